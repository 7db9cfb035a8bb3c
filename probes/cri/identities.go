package cri

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/probes"
)

// maxIDs bounds the ids that are remembered, unless a test sets another bound: a node has some hundred pods, with a
// few containers each.
const maxIDs = 50_000

// ownLabels begin the names of the labels that the kubelet adds to a pod's own.
const ownLabels = "io.kubernetes."

// Pod is a pod as the runtime knows it: by its sandbox.
type Pod struct {
	probes.Pod
	// Labels are the user's, without those that the kubelet adds. The map is
	// shared and not to be changed.
	Labels map[string]string
	// Source is where the kubelet has the pod from: api, file or http. It is
	// empty if the sandbox does not have it.
	Source  string
	Sandbox string
	// Ready is set until the sandbox has stopped.
	Ready   bool
	Created time.Time
}

// Static reports whether a pod is no object of the API server.
func (p *Pod) Static() bool { return p.Source != "" && p.Source != "api" }

// Config returns what is known of the configuration of the pod's sandbox.
func (p *Pod) Config() *runtimeapi.PodSandboxConfig {
	return &runtimeapi.PodSandboxConfig{
		Metadata:    &runtimeapi.PodSandboxMetadata{Namespace: p.Namespace, Name: p.Name, Uid: p.UID},
		Labels:      p.Labels,
		Annotations: map[string]string{probes.AnnotationSource: p.Source},
	}
}

// Container is a container, and its pod.
type Container struct {
	ID, Name string
	Pod      probes.Pod
	// Exited is set if the runtime, when last asked, reported it as exited.
	Exited bool
}

// Identities knows which pod a sandbox or a container belongs to. It learns that from calls and answers, and from
// the runtime's lists. It is safe for use by several goroutines.
type Identities struct {
	max int

	mu         sync.RWMutex
	seq        uint64 // counts what is learnt, to find what came during a load
	sandboxes  map[string]*sandbox
	containers map[string]*container
	loading    bool
	gone       map[string]bool // while loading
	loaded     time.Time
	now        func() time.Time
}

type sandbox struct {
	pod Pod
	seq uint64
	// over: a call has stopped it, or it had stopped when podstep came. A sandbox that dies by itself is not over:
	// its pod's worker still stops it.
	over       bool
	containers map[string]struct{}
}

type container struct {
	sandbox *sandbox
	name    string
	exited  bool
	seq     uint64
}

// NewIdentities returns one that knows no pod yet.
func NewIdentities() *Identities {
	return &Identities{max: maxIDs, sandboxes: map[string]*sandbox{}, containers: map[string]*container{}, now: time.Now}
}

// Pod returns the pod of a sandbox or container.
func (x *Identities) Pod(id string) (Pod, bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if s := x.sandboxes[id]; s != nil {
		return s.pod, true
	}
	if c := x.containers[id]; c != nil {
		return c.sandbox.pod, true
	}
	return Pod{}, false
}

// Has reports whether a pod has a sandbox.
func (x *Identities) Has(uid string) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, s := range x.sandboxes {
		if s.pod.UID == uid {
			return true
		}
	}
	return false
}

// stopped reports whether the kubelet has no reason to stop a sandbox any more.
func (x *Identities) stopped(id string) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	s := x.sandboxes[id]
	return s != nil && s.over
}

// Pods returns the pods that are known, each by its newest sandbox, in the
// order of their names.
func (x *Identities) Pods() []Pod {
	x.mu.RLock()
	defer x.mu.RUnlock()
	newest := map[string]Pod{}
	for _, s := range x.sandboxes {
		if p, ok := newest[s.pod.UID]; !ok || s.pod.Created.After(p.Created) {
			newest[s.pod.UID] = s.pod
		}
	}
	out := make([]Pod, 0, len(newest))
	for _, p := range newest {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b Pod) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	return out
}

// Containers returns the containers that are known.
func (x *Identities) Containers() []Container {
	x.mu.RLock()
	defer x.mu.RUnlock()
	out := make([]Container, 0, len(x.containers))
	for id, c := range x.containers {
		out = append(out, Container{ID: id, Name: c.name, Pod: c.sandbox.pod.Pod, Exited: c.exited})
	}
	return out
}

// Learn learns from a call that has ended which pods its ids belong to.
func (x *Identities) Learn(r Request, a Answer) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if a.Gone != "" {
		x.forget(a.Gone)
		return
	}
	if a.Err != nil {
		return
	}
	switch q := r.message.(type) {
	case *runtimeapi.RunPodSandboxRequest:
		x.addSandbox(a.Made, q.GetConfig())
	case *runtimeapi.CreateContainerRequest:
		s := x.sandboxes[q.PodSandboxId]
		if s == nil {
			s = x.addSandbox(q.PodSandboxId, q.GetSandboxConfig())
		}
		if s != nil && a.Made != "" {
			x.addContainer(a.Made, s, q.GetConfig().GetMetadata().GetName())
		}
	case *runtimeapi.StopPodSandboxRequest:
		if s := x.sandboxes[q.PodSandboxId]; s != nil {
			s.over, s.pod.Ready = true, false
		}
	}
	x.learnStatus(a)
}

// learnStatus learns from the answers of status calls. The caller holds mu.
func (x *Identities) learnStatus(a Answer) {
	switch a := a.message.(type) {
	case *runtimeapi.PodSandboxStatusResponse:
		if s := x.sandboxes[a.GetStatus().GetId()]; s != nil {
			s.pod.Ready = !s.over && a.Status.State == runtimeapi.PodSandboxState_SANDBOX_READY
		}
	case *runtimeapi.ContainerStatusResponse:
		if c := x.containers[a.GetStatus().GetId()]; c != nil {
			c.exited = a.Status.State == runtimeapi.ContainerState_CONTAINER_EXITED
		}
	}
}

// addSandbox remembers a sandbox that is of a pod. The caller holds mu.
func (x *Identities) addSandbox(id string, config *runtimeapi.PodSandboxConfig) *sandbox {
	md := config.GetMetadata()
	if id == "" || md.GetUid() == "" {
		return nil
	}
	x.room()
	x.seq++
	s := &sandbox{seq: x.seq, pod: podOf(md, config.GetLabels(), config.GetAnnotations())}
	s.pod.Sandbox, s.pod.Ready, s.pod.Created = id, true, x.now()
	x.sandboxes[id] = s
	return s
}

// addContainer remembers a container of a sandbox. The caller holds mu.
func (x *Identities) addContainer(id string, s *sandbox, name string) {
	x.room()
	x.sandboxes[s.pod.Sandbox] = s // there may have been no room for it
	x.seq++
	x.put(id, &container{sandbox: s, name: name, seq: x.seq})
}

func (x *Identities) put(id string, c *container) {
	x.containers[id] = c
	if c.sandbox.containers == nil {
		c.sandbox.containers = map[string]struct{}{}
	}
	c.sandbox.containers[id] = struct{}{}
}

func podOf(md *runtimeapi.PodSandboxMetadata, labels, annotations map[string]string) Pod {
	return Pod{
		Pod:    probes.Pod{Namespace: md.GetNamespace(), Name: md.GetName(), UID: md.GetUid()},
		Labels: userLabels(labels), Source: annotations[probes.AnnotationSource],
	}
}

func userLabels(labels map[string]string) map[string]string {
	var out map[string]string
	for k, v := range labels {
		if strings.HasPrefix(k, ownLabels) {
			continue
		}
		if out == nil {
			out = make(map[string]string, len(labels))
		}
		out[k] = v
	}
	return out
}

// forget drops a container, or a sandbox with its containers. The caller holds
// mu.
func (x *Identities) forget(id string) {
	if x.loading {
		x.gone[id] = true
	}
	x.drop(id)
}

func (x *Identities) drop(id string) {
	if c := x.containers[id]; c != nil {
		delete(c.sandbox.containers, id)
		delete(x.containers, id)
	}
	if s := x.sandboxes[id]; s != nil {
		delete(x.sandboxes, id)
		for c := range s.containers {
			delete(x.containers, c)
		}
	}
}

// room makes room for one more id. Those of sandboxes that have stopped go first. If all are running, any go: the
// runtime's lists have them again. The caller holds mu.
func (x *Identities) room() {
	if len(x.sandboxes)+len(x.containers) < x.max {
		return
	}
	for id, s := range x.sandboxes {
		if !s.pod.Ready {
			x.drop(id)
		}
	}
	if len(x.sandboxes)+len(x.containers) > x.max/2 {
		clear(x.sandboxes)
		clear(x.containers)
	}
}
