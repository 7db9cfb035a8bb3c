package agent

import (
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/agent/hook"
)

// maxPods bounds the pods that the agent remembers, and maxIDs the containers
// and sandboxes. Beyond that, pods that are gone are forgotten.
const (
	maxPods = 10_000
	maxIDs  = 50_000
)

// Annotations by which the kubelet tells mirror pods and pods of a file.
const (
	annotationMirror = "kubernetes.io/config.mirror"
	annotationSource = "kubernetes.io/config.source"
)

// systemCritical is the least priority of a system-critical pod, of
// k8s.io/kubernetes/pkg/apis/scheduling.
const systemCritical = 2_000_000_000

// pod is a pod that the agent has heard of. The pointer identifies it while
// the agent lives, also when a pod of the same name follows.
type pod struct {
	id  uint32
	uid string

	sync atomic.Uint32 // turns of its worker so far
	// wish is what a person wants of the pod's next steps, or nil.
	wish atomic.Pointer[wish]

	mu        sync.Mutex
	labels    []hook.Label // profiler labels
	namespace string
	name      string
	seen      string // resource version last seen at a source
	meta      podMeta
	where     podWhere
	noHold    string // why the pod may not be held any more
}

// podMeta is what the pod's object tells.
type podMeta struct {
	labels   map[string]string
	phase    string
	ready    bool
	deleting bool
	critical string // why only force may hold it
	grace    time.Duration
	version  string
}

// podWhere is where a pod is in the pipeline.
type podWhere struct {
	stage, step string
	since       time.Time
	working     bool // its worker is in a turn
	worker      bool // it has a worker
	err         string
	removed     bool // gone from its source
	finished    bool // its worker has ended
}

func (p *pod) profilerLabels() []hook.Label {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.labels
}

// names returns namespace and name.
func (p *pod) names() (namespace, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.namespace, p.name
}

// podTable finds pods by uid, and by the ids that the runtime gave to their
// sandboxes and containers.
type podTable struct {
	mu    sync.RWMutex
	byUID map[string]*pod
	byID  map[string]*pod // CRI ids
	last  uint32
}

func (t *podTable) init() {
	t.byUID = map[string]*pod{}
	t.byID = map[string]*pod{}
}

// uid returns the pod with that uid, making it known if it is new.
func (t *podTable) uid(uid string) *pod {
	if uid == "" {
		return nil
	}
	t.mu.RLock()
	p := t.byUID[uid]
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
		t.forget()
	}
	t.last++
	p = &pod{id: t.last, uid: uid, labels: hook.Labels(uid)}
	t.byUID[uid] = p
	return p
}

// forget drops pods that are gone. The caller holds mu.
func (t *podTable) forget() {
	for uid, p := range t.byUID {
		p.mu.Lock()
		gone := p.where.removed && p.where.finished
		p.mu.Unlock()
		if gone {
			delete(t.byUID, uid)
		}
	}
	for id, p := range t.byID {
		if t.byUID[p.uid] != p {
			delete(t.byID, id)
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
		clear(t.byID)
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

// object returns the pod of an object, and takes what the object tells. The
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
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.name == "" {
		p.namespace, p.name = o.Namespace, o.Name
		p.labels = hook.Labels(o.Namespace + "/" + o.Name)
	}
	p.learn(o, mirror != "")
	return p
}

// learn takes from an object what the agent needs of it. The worker's own copy
// may be older than the source's, so a known version is not read again. The
// caller holds mu.
func (p *pod) learn(o *v1.Pod, mirror bool) {
	m := &p.meta
	if o.DeletionTimestamp != nil && !mirror {
		m.deleting = true
	}
	if m.version == o.ResourceVersion && m.labels != nil {
		return
	}
	m.version = o.ResourceVersion
	m.labels = o.Labels
	if m.labels == nil {
		m.labels = map[string]string{}
	}
	if o.Status.Phase != "" {
		m.phase = string(o.Status.Phase)
	}
	m.ready = false
	for _, c := range o.Status.Conditions {
		if c.Type == v1.PodReady {
			m.ready = c.Status == v1.ConditionTrue
		}
	}
	if g := o.Spec.TerminationGracePeriodSeconds; g != nil {
		m.grace = time.Duration(*g) * time.Second
	}
	if why := critical(o, mirror); why != "" {
		m.critical = why
	}
}

// critical tells why a pod is one that the node or the cluster lives by.
func critical(o *v1.Pod, mirror bool) string {
	if o.Spec.Priority != nil && *o.Spec.Priority >= systemCritical {
		return "it is system-critical (priority class " + o.Spec.PriorityClassName + ")"
	}
	src := o.Annotations[annotationSource]
	if o.Namespace == "kube-system" && (mirror || (src != "" && src != "api")) {
		return "it is a static pod of the control plane"
	}
	return ""
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
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.name == "" {
		p.namespace, p.name = md.GetNamespace(), md.GetName()
	}
	return p
}

// fromList finds the pods of a list. With changed, only those whose resource
// version was not seen here before.
func (t *podTable) fromList(v any, changed bool) (out []*pod) {
	add := func(o *v1.Pod) {
		p := t.object(o)
		if p == nil {
			return
		}
		if changed && !p.isNews(o.ResourceVersion, o.DeletionTimestamp != nil) {
			return
		}
		out = append(out, p)
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

// isNews tells whether a source shows this version of the pod for the first
// time. Pods of a file have no version: they are news once.
func (p *pod) isNews(version string, deleting bool) bool {
	seen := version
	if deleting {
		seen += " deleting"
	}
	if seen == "" {
		seen = "file"
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen == seen {
		return false
	}
	p.seen = seen
	return true
}
