// Package pods knows the pods that the kubelet's values are about. It finds a pod by whatever a function of the kubelet
// has in hand (an object, a uid, the id of a sandbox or container), and keeps what objects state about the pod.
package pods

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes/hook"
)

// Pod is a pod that the kubelet has. Its pointer identifies it while the table lives, even when another pod gets the
// same name.
//
// All its fields can be read without a lock: the kubelet's goroutines do so at every step, and must never wait for a
// client's request.
type Pod struct {
	ID  uint32
	UID string

	ident atomic.Pointer[ident] // nil: known by its uid only
	meta  atomic.Pointer[Meta]
	// goneSince is when the verdict on the pod became gone, in nanoseconds since 1970; 0: it is here.
	goneSince atomic.Int64

	mu sync.Mutex // is held while learn replaces meta
}

// Entry is a pod in a table. State is what the table's owner keeps of it.
type Entry[S any] struct {
	Pod
	State S
}

// ident is what a pod is called. It does not change.
type ident struct {
	namespace, name string
	labels          []hook.Label // profiler labels
}

// Meta is what a version of the pod's object states. It is replaced, never changed.
type Meta struct {
	Critical *agentpb.Problem // why only force may hold it; nil: it may be held without
	Grace    *time.Duration   // how long the pod may take to end; nil: not known
	Sidecars bool

	version string
	labels  map[string]string
}

// Names returns namespace and name, empty if they are not known yet.
func (p *Pod) Names() (namespace, name string) {
	if i := p.ident.Load(); i != nil {
		return i.namespace, i.name
	}
	return "", ""
}

// FullName returns namespace/name.
func (p *Pod) FullName() string {
	namespace, name := p.Names()
	return namespace + "/" + name
}

var (
	// NodeLabels are the profiler labels of calls that are about no pod.
	NodeLabels    = hook.Labels("node")
	unnamedLabels = hook.Labels("pod")
)

// ProfilerLabels returns the profiler labels of calls that are about the pod.
func (p *Pod) ProfilerLabels() []hook.Label {
	if i := p.ident.Load(); i != nil {
		return i.labels
	}
	return unnamedLabels
}

// Name gives the pod its name. Only the first call has an effect.
func (p *Pod) Name(namespace, name string) {
	p.ident.CompareAndSwap(nil, &ident{namespace, name, hook.Labels(namespace + "/" + name)})
}

// Named reports whether more is known of the pod than its uid.
func (p *Pod) Named() bool { return p.ident.Load() != nil }

// Meta returns what the pod's object states; nil: no object was seen yet.
func (p *Pod) Meta() *Meta { return p.meta.Load() }

// Critical returns why only force may hold the pod; nil: it may be held without.
func (p *Pod) Critical() *agentpb.Problem {
	if m := p.meta.Load(); m != nil {
		return m.Critical
	}
	if namespace, _ := p.Names(); namespace == systemNamespace {
		return unknownPriority()
	}
	return nil
}

// Gone reports whether the pod is gone from the node.
func (p *Pod) Gone() bool { return p.goneSince.Load() != 0 }

// SetGone sets since when the pod is gone, in nanoseconds since 1970; 0: it is here.
func (p *Pod) SetGone(since int64) { p.goneSince.Store(since) }

// Proto returns the pod as a message.
func (p *Pod) Proto() *agentpb.Pod {
	namespace, name := p.Names()
	return &agentpb.Pod{Id: p.ID, Namespace: namespace, Name: name, Uid: p.UID}
}
