package agent

import (
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes/hook"
)

// maxPods bounds the pods that the agent remembers, and maxIDs the containers
// and sandboxes. Beyond that, pods that are gone are forgotten.
const (
	maxPods = 10_000
	maxIDs  = 50_000
)

// Annotations by which the kubelet tells mirror pods and pods of a file. The
// hash is in both, and there before the source is.
const (
	annotationMirror = "kubernetes.io/config.mirror"
	annotationHash   = "kubernetes.io/config.hash"
	annotationSource = "kubernetes.io/config.source"
)

const (
	systemNamespace = "kube-system"
	// labelsOfKubelet begin the names of labels that the kubelet adds to those of
	// the pod.
	labelsOfKubelet = "io.kubernetes."
)

// systemCritical is the least priority of a system-critical pod, of
// k8s.io/kubernetes/pkg/apis/scheduling.
const systemCritical = 2_000_000_000

// pod is a pod that the agent has seen. The pointer identifies it while
// the agent lives, also when a pod of the same name follows.
//
// Everything in it but seq can be read without a lock: the kubelet's goroutines do so at
// every step, and must never wait for a client's request.
type pod struct {
	id  uint32
	uid string

	seq     uint64        // of the last event about it; guarded by journal.mu
	sync    atomic.Uint32 // turns of its worker so far
	updates atomic.Uint32 // updates that its worker was sent so far
	// pending is the hold that a person asked for at one of the pod's next steps, or nil.
	pending atomic.Pointer[pendingHold]
	noHold  atomic.Pointer[string] // why it may not be held any more
	ident   atomic.Pointer[ident]  // nil: known by its uid only
	meta    atomic.Pointer[podMeta]
	// goneSince is when the verdict on it became that it is gone, in nanoseconds since
	// 1970; 0: it is here.
	goneSince atomic.Int64
	// place is its place in the history of the verdicts, and learned is set when that
	// knows its name. Both are guarded by verdicts.mu.
	place   int
	learned bool
	// running are the kubelet's timers that run for the pod.
	running running

	mu sync.Mutex // for who changes ident and meta
}

// ident is what a pod is called. It does not change.
type ident struct {
	namespace, name string
	labels          []hook.Label // profiler labels
}

// podMeta is what a version of the pod's object states. It is replaced, not
// changed.
type podMeta struct {
	version  string
	labels   map[string]string
	critical *agentpb.Problem // why only force may hold it; nil: anybody may
	grace    *time.Duration   // to end in; nil: not known
	sidecars bool
}

// names returns namespace and name, empty if they are not known yet.
func (p *pod) names() (namespace, name string) {
	if i := p.ident.Load(); i != nil {
		return i.namespace, i.name
	}
	return "", ""
}

// fullName is namespace/name.
func (p *pod) fullName() string {
	namespace, name := p.names()
	return namespace + "/" + name
}

var (
	nodeLabels    = hook.Labels("node")
	unnamedLabels = hook.Labels("pod")
)

func (p *pod) profilerLabels() []hook.Label {
	if i := p.ident.Load(); i != nil {
		return i.labels
	}
	return unnamedLabels
}

// name names the pod, once.
func (p *pod) name(namespace, name string) {
	p.ident.CompareAndSwap(nil, &ident{namespace, name, hook.Labels(namespace + "/" + name)})
}

func (p *pod) gone() bool { return p.goneSince.Load() != 0 }

// podTable finds pods by uid, and by the ids that the runtime gave to their
// sandboxes and containers.
type podTable struct {
	recent recentPods
	// forgotten is called with each pod that the table forgets, under mu.
	forgotten func(*pod)

	mu    sync.RWMutex
	byUID map[string]*pod
	byID  map[string]*pod // CRI ids
	shown map[types.UID]shown
	last  uint32
}

// shown is what a source has shown of an object last, by the object's own uid.
type shown struct {
	version string
	pod     *pod
}

func (t *podTable) init() {
	t.byUID = map[string]*pod{}
	t.byID = map[string]*pod{}
	t.shown = map[types.UID]shown{}
}

// uid returns the pod with that uid, making it known if it is new.
func (t *podTable) uid(uid string) *pod {
	if uid == "" {
		return nil
	}
	p := t.recent.find(uid)
	if p != nil {
		return p
	}
	t.mu.RLock()
	if p = t.byUID[uid]; p != nil {
		t.recent.add(p)
	}
	t.mu.RUnlock()
	if p != nil {
		return p
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.byUID[uid]; p != nil {
		return p
	}
	if len(t.byUID) >= maxPods {
		t.forget((*pod).gone)
	}
	t.last++
	p = &pod{id: t.last, uid: uid}
	t.byUID[uid] = p
	return p
}

// forget drops pods. The caller holds mu.
func (t *podTable) forget(which func(*pod) bool) {
	t.recent.clear()
	for uid, p := range t.byUID {
		if which(p) {
			delete(t.byUID, uid)
			if t.forgotten != nil {
				t.forgotten(p)
			}
		}
	}
	for id, p := range t.byID {
		if t.byUID[p.uid] != p {
			delete(t.byID, id)
		}
	}
	for uid, s := range t.shown {
		if t.byUID[s.pod.uid] != s.pod {
			delete(t.shown, uid)
		}
	}
}

func (t *podTable) criID(id string) *pod {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byID[id]
}

// learn remembers whose sandbox or container an id is.
func (t *podTable) learn(id string, p *pod) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.byID) >= maxIDs {
		t.forget((*pod).gone)
	}
	if len(t.byID) >= maxIDs {
		clear(t.byID) // too many that live; who asks for one learns it again
	}
	t.byID[id] = p
}

func (t *podTable) all() []*pod {
	t.mu.RLock()
	defer t.mu.RUnlock()
	out := make([]*pod, 0, len(t.byUID))
	for _, p := range t.byUID {
		out = append(out, p)
	}
	return out
}

// object returns the pod of an object, and takes what the object states. The
// mirror of a static pod is the static pod: people know it as one.
func (t *podTable) object(o *v1.Pod) *pod {
	if o == nil {
		return nil
	}
	uid := string(o.UID)
	mirror := o.Annotations[annotationMirror]
	if mirror != "" {
		uid = mirror
	}
	p := t.uid(uid)
	if p == nil {
		return nil
	}
	if p.ident.Load() == nil {
		p.name(o.Namespace, o.Name)
	}
	p.learn(o, mirror != "")
	return p
}

// learn takes from an object what the agent needs of it. Most objects are of a
// version that is known. The kubelet's goroutines have older ones in hand too,
// some with a status that the kubelet itself put in: those state nothing.
func (p *pod) learn(o *v1.Pod, mirror bool) {
	if m := p.meta.Load(); m != nil && !newer(o.ResourceVersion, m.version) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.meta.Load(); m != nil && !newer(o.ResourceVersion, m.version) {
		return // somebody was quicker
	}
	m := &podMeta{version: o.ResourceVersion, labels: o.Labels, critical: critical(o), grace: grace(o, mirror), sidecars: hasSidecars(o)}
	if old := p.meta.Load(); old != nil && m.critical == nil {
		m.critical = old.critical
	}
	p.meta.Store(m)
}

// newer reports whether a resource version is a later one than another. Those of
// pods of a file are empty, and only different.
func newer(a, b string) bool {
	if a == b {
		return false
	}
	m, err := strconv.ParseUint(a, 10, 64)
	n, err2 := strconv.ParseUint(b, 10, 64)
	return err != nil || err2 != nil || m > n
}

// grace is how long the pod may take to end: what its deletion says overrides
// what its spec says, as in the kubelet's setTerminationGracePeriod. Who deletes a
// mirror does not end the static pod.
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

// critical reports why a pod is one that the node or the cluster lives by; nil if it
// is none.
func critical(o *v1.Pod) *agentpb.Problem {
	if o.Spec.Priority != nil && *o.Spec.Priority >= systemCritical {
		return problem(agentpb.Problem_SYSTEM_CRITICAL, args{"class": o.Spec.PriorityClassName})
	}
	if o.Namespace == systemNamespace && isStatic(o.Annotations) {
		return problem(agentpb.Problem_CONTROL_PLANE, nil)
	}
	return nil
}

// isStatic reports whether annotations are those of a pod of a file or URL, or of
// its mirror. The hash is there from the first on; the source comes later, and
// the mirror last.
func isStatic(annotations map[string]string) bool {
	src := annotations[annotationSource]
	return annotations[annotationHash] != "" || annotations[annotationMirror] != "" || (src != "" && src != "api")
}

// fromValue finds the pod that a value of woven code is about.
func (t *podTable) fromValue(v any) *pod {
	switch v := v.(type) {
	case *v1.Pod:
		return t.object(v)
	case types.UID:
		return t.uid(string(v))
	case *runtimeapi.PodSandboxConfig:
		return t.sandbox(v)
	case string:
		if p := t.criID(v); p != nil {
			return p
		}
		t.mu.RLock()
		defer t.mu.RUnlock()
		return t.byUID[v]
	}
	return nil
}

func (t *podTable) sandbox(c *runtimeapi.PodSandboxConfig) *pod {
	md := c.GetMetadata()
	p := t.uid(md.GetUid())
	if p == nil {
		return nil
	}
	if p.ident.Load() == nil {
		p.name(md.GetNamespace(), md.GetName())
	}
	if p.meta.Load() == nil {
		p.learnSandbox(c)
	}
	return p
}

// learnSandbox takes from a sandbox's configuration what the pod's object would
// tell, until there is one. It has no version: any object is newer.
func (p *pod) learnSandbox(c *runtimeapi.PodSandboxConfig) {
	m := &podMeta{labels: map[string]string{}}
	for k, v := range c.GetLabels() {
		if !strings.HasPrefix(k, labelsOfKubelet) {
			m.labels[k] = v
		}
	}
	if c.GetMetadata().GetNamespace() == systemNamespace && isStatic(c.GetAnnotations()) {
		m.critical = problem(agentpb.Problem_CONTROL_PLANE, nil)
	}
	p.meta.CompareAndSwap(nil, m)
}

// known returns the pod with that uid, if there is one.
func (t *podTable) known(uid string) *pod {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byUID[uid]
}

// listed is a pod of a list, and the uid of the object by which the list has it.
type listed struct {
	pod *pod
	uid types.UID
}

// fromList finds the pods of a list. With changed, only those whose resource
// version was not seen here before.
func (t *podTable) fromList(v any, changed bool) (out []listed) {
	add := func(o *v1.Pod) {
		// Of an object that a source has shown before nothing but its version is
		// read: the kubelet's next goroutine writes to the object's annotations,
		// and a map that is read meanwhile ends the process.
		if o == nil || (changed && t.wasShown(o)) {
			return
		}
		p := t.object(o)
		if p == nil {
			return
		}
		if changed {
			t.show(o, p)
		}
		out = append(out, listed{p, o.UID})
	}
	switch v := v.(type) {
	case []*v1.Pod:
		for _, o := range v {
			add(o)
		}
	case []any:
		for _, o := range v {
			if o, ok := o.(*v1.Pod); ok {
				add(o)
			}
		}
	}
	return out
}

// wasShown reports whether a source has shown this version of an object before.
func (t *podTable) wasShown(o *v1.Pod) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.shown[o.UID].version == shownVersion(o)
}

func (t *podTable) show(o *v1.Pod, p *pod) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shown[o.UID] = shown{shownVersion(o), p}
}

// hide forgets what was shown of an object: a file that comes back has no version
// that would tell it from the one before.
func (t *podTable) hide(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.shown, uid)
}

// shownVersion is never empty. Pods of a file have no version: they are news
// once.
func shownVersion(o *v1.Pod) string {
	if o.DeletionTimestamp != nil {
		return o.ResourceVersion + " deleting"
	}
	if o.ResourceVersion == "" {
		return "file"
	}
	return o.ResourceVersion
}
