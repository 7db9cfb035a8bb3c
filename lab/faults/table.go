package faults

import (
	"sync"
	"time"
)

// Table knows pods by their namespaces: each pod that is watched is the only one of its namespace. Its methods may be
// called at the same time.
type Table struct {
	mu   sync.Mutex
	pods map[string]*watched
	ids  map[string]about // by the id of a pod, a sandbox, a container or a volume
	solo string           // the namespace of the pod that has the node for itself
}

// about is what an id belongs to.
type about struct{ namespace, container string }

// watched is what is known of the calls about a pod.
type watched struct {
	rule   *Rule
	lifted chan struct{} // closed when the rule is lifted
	counts map[Call]int
	seen   []Op
	broken int
	first  time.Time
}

// NewTable returns a table without pods.
func NewTable() *Table {
	return &Table{pods: map[string]*watched{}, ids: map[string]about{}}
}

// Watch begins to count the calls about the pod of a namespace anew, and breaks those that the rule names. The rule
// may be nil.
func (t *Table) Watch(namespace string, r *Rule) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if old := t.pods[namespace]; old != nil {
		close(old.lifted)
	}
	t.pods[namespace] = &watched{rule: r, lifted: make(chan struct{}), counts: map[Call]int{}}
}

// Learn makes the table know an id of a pod, its uid or that of its volume, by which some calls name it.
func (t *Table) Learn(namespace, id string) { t.learn(id, about{namespace: namespace}) }

// Only makes the pod of a namespace the only one that is tried: calls to plugins that name no pod are about it. Empty:
// there are others.
func (t *Table) Only(namespace string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.solo = namespace
}

func (t *Table) only() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.solo
}

func (t *Table) learn(id string, a about) {
	if id == "" || a.namespace == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ids[id] = a
}

func (t *Table) whose(id string) about {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ids[id]
}

// Forget ends the watch of a namespace's pod: calls that hang for it go on.
func (t *Table) Forget(namespace string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.pods[namespace]
	if w == nil {
		return
	}
	close(w.lifted)
	delete(t.pods, namespace)
	for id, a := range t.ids {
		if a.namespace == namespace {
			delete(t.ids, id)
		}
	}
}

// Seen returns the calls about a namespace's pod since Watch, in their order.
func (t *Table) Seen(namespace string) []Op {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w := t.pods[namespace]; w != nil {
		return append([]Op(nil), w.seen...)
	}
	return nil
}

// Broken returns how many calls the rule of a namespace's pod has broken, and when it broke the first.
func (t *Table) Broken(namespace string) (calls int, first time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w := t.pods[namespace]; w != nil {
		return w.broken, w.first
	}
	return 0, time.Time{}
}

// maxSeen bounds the calls that are kept of a pod. Those that repeat make up most of them.
const maxSeen = 2000

// strike counts a call. If a rule breaks it, strike returns the rule, and a channel that is closed when the rule is
// lifted.
func (t *Table) strike(namespace string, c Call) (*Rule, <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.pods[namespace]
	if w == nil {
		return nil, nil
	}
	w.counts[c]++
	n := w.counts[c]
	if len(w.seen) < maxSeen {
		w.seen = append(w.seen, Op{c, n})
	}
	if w.rule == nil || !w.rule.breaks(c, n) {
		return nil, nil
	}
	if w.broken++; w.broken == 1 {
		w.first = time.Now()
	}
	return w.rule, w.lifted
}
