package pods

import (
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
)

const (
	systemNamespace = "kube-system"
	// labelsOfKubelet is the prefix of the labels that the kubelet adds to those of the pod.
	labelsOfKubelet = "io.kubernetes."
)

// SystemCritical is the least priority of a system-critical pod, of
// k8s.io/kubernetes/pkg/apis/scheduling.
const SystemCritical = 2_000_000_000

// Object returns the pod of an object, and learns what the object states. For the mirror of a static pod it returns the
// static pod: people know it as one.
func (t *Table[S]) Object(o *v1.Pod) *Entry[S] {
	if o == nil {
		return nil
	}
	uid := string(o.UID)
	mirror := o.Annotations[v1.MirrorPodAnnotationKey]
	if mirror != "" {
		uid = mirror
	}
	p := t.UID(uid)
	if p == nil {
		return nil
	}
	if mirror != "" {
		t.noteMirror(o.UID, p)
	}
	if p.ident.Load() == nil {
		p.Name(o.Namespace, o.Name)
	}
	p.learn(o, mirror != "")
	return p
}

// Ref returns the pod that a probe has read from the kubelet's memory, and learns only its name. A mirror of which no
// object was seen counts as a pod of its own.
func (t *Table[S]) Ref(r probes.PodRef) *Entry[S] {
	p := t.mirrorOf(types.UID(r.UID))
	if p == nil {
		p = t.UID(r.UID)
	}
	if p != nil && p.ident.Load() == nil && r.Name != "" {
		p.Name(r.Namespace, r.Name)
	}
	return p
}

// learn takes from an object what the agent needs of it. Most objects are of a version that is known. The kubelet's
// goroutines also use older objects, some with a status that the kubelet itself put in: learn ignores those.
func (p *Pod) learn(o *v1.Pod, mirror bool) {
	if m := p.meta.Load(); m != nil && !newer(o.ResourceVersion, m.version) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.meta.Load(); m != nil && !newer(o.ResourceVersion, m.version) {
		return // another goroutine was quicker
	}
	m := &Meta{version: o.ResourceVersion, labels: o.Labels, Critical: p.critical(o), Grace: grace(o, mirror), Sidecars: hasSidecars(o)}
	p.meta.Store(m)
}

// newer reports whether resource version a is later than b. Pods of a file have no version: for them it reports whether
// the two differ.
func newer(a, b string) bool {
	if a == b {
		return false
	}
	m, err := strconv.ParseUint(a, 10, 64)
	n, err2 := strconv.ParseUint(b, 10, 64)
	return err != nil || err2 != nil || m > n
}

// grace returns how long the pod may take to end: what its deletion says overrides what its spec says, as in the
// kubelet's setTerminationGracePeriod. The deletion of a mirror does not end the static pod. nil: neither says.
func grace(o *v1.Pod, mirror bool) *time.Duration {
	seconds := o.Spec.TerminationGracePeriodSeconds
	if o.DeletionGracePeriodSeconds != nil && !mirror {
		seconds = o.DeletionGracePeriodSeconds
	}
	if seconds == nil {
		return nil
	}
	d := time.Duration(*seconds) * time.Second
	return &d
}

// hasSidecars reports whether containers of the pod stop in an order.
func hasSidecars(o *v1.Pod) bool {
	return slices.ContainsFunc(o.Spec.InitContainers, func(c v1.Container) bool {
		return c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
	})
}

// critical returns why the node or the cluster depends on a pod; nil: it does not.
func critical(o *v1.Pod) *agentpb.Problem {
	switch {
	case isCritical(&o.Spec):
		return &agentpb.Problem{Code: agentpb.Problem_SYSTEM_CRITICAL, Args: map[string]string{"class": o.Spec.PriorityClassName}}
	case o.Namespace != systemNamespace:
		return nil
	case isStatic(o.Annotations):
		return &agentpb.Problem{Code: agentpb.Problem_CONTROL_PLANE}
	case o.Spec.Priority == nil:
		return unknownPriority()
	}
	return nil
}

// isCritical reports whether a pod declares itself critical. The API server turns the class into a priority; a pod of a
// file has only the class.
func isCritical(s *v1.PodSpec) bool {
	if s.Priority != nil {
		return *s.Priority >= SystemCritical
	}
	return s.PriorityClassName == "system-cluster-critical" || s.PriorityClassName == "system-node-critical"
}

// unknownPriority returns the reason for a pod in kube-system of which not enough is known: most pods on which a
// cluster depends are there.
func unknownPriority() *agentpb.Problem {
	return &agentpb.Problem{Code: agentpb.Problem_PRIORITY_UNKNOWN}
}

// critical returns why only force may hold the pod, by an object and by what was stated before. An object without a
// priority leaves the old reason. An object with one takes back a reason that was only feared.
func (p *Pod) critical(o *v1.Pod) *agentpb.Problem {
	now, old := critical(o), p.meta.Load()
	feared := func(why *agentpb.Problem) bool { return why.GetCode() == agentpb.Problem_PRIORITY_UNKNOWN }
	if old != nil && (feared(now) || now == nil && !feared(old.Critical)) {
		return old.Critical
	}
	return now
}

// isStatic reports whether a pod of a file or URL, or its mirror, has these annotations. The hash is there from the
// start; the source comes later, and the mirror last.
func isStatic(annotations map[string]string) bool {
	src := annotations[probes.AnnotationSource]
	return annotations[probes.AnnotationHash] != "" || annotations[v1.MirrorPodAnnotationKey] != "" || (src != "" && src != "api")
}

// Sandbox returns the pod of a sandbox's configuration, and learns what the configuration states.
func (t *Table[S]) Sandbox(c *runtimeapi.PodSandboxConfig) *Entry[S] {
	md := c.GetMetadata()
	p := t.UID(md.GetUid())
	if p == nil {
		return nil
	}
	if p.ident.Load() == nil {
		p.Name(md.GetNamespace(), md.GetName())
	}
	if p.meta.Load() == nil {
		p.learnSandbox(c)
	}
	return p
}

// learnSandbox takes from a sandbox's configuration what the pod's object would
// have, until there is one. It has no version: any object is newer.
func (p *Pod) learnSandbox(c *runtimeapi.PodSandboxConfig) {
	m := &Meta{labels: map[string]string{}}
	for k, v := range c.GetLabels() {
		if !strings.HasPrefix(k, labelsOfKubelet) {
			m.labels[k] = v
		}
	}
	// The configuration does not have the priority.
	switch {
	case c.GetMetadata().GetNamespace() != systemNamespace:
	case isStatic(c.GetAnnotations()):
		m.Critical = &agentpb.Problem{Code: agentpb.Problem_CONTROL_PLANE}
	default:
		m.Critical = unknownPriority()
	}
	p.meta.CompareAndSwap(nil, m)
}
