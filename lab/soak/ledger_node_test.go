//go:build node

package soak

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/labtest"
)

// record is what is known of one pod: what is expected of it, and what was seen of it.
type record struct {
	name, kind string
	want       expectation
	faulty     bool
	first      bool          // the first pod of its slot: all slots begin at once
	changed    chan struct{} // has room for one

	// The ledger guards these fields.
	created  time.Time
	reached  time.Duration // how long it took to reach its expected state; 0: it has not
	doomed   bool          // the test has deleted it, or is about to
	gone     bool
	holds    int // holds that have begun
	standing int // holds that have not ended
	faults   int
	touched  time.Time // when a hold or a fault of it last began or ended
	wasReady bool
	status   corev1.PodStatus
	wrong    map[string]bool // what was wrong with it so far
}

// ledger has all pods of the run that are not gone, by name. No name comes twice.
type ledger struct {
	mu   sync.Mutex
	all  map[string]*record
	list []*record
	// standing is how many holds of all pods stand. stood is when one last stood.
	standing int
	stood    time.Time
	took     map[string][]time.Duration // until Ready, of pods that were not held and had no fault
}

func newLedger() *ledger {
	return &ledger{all: map[string]*record{}, took: map[string][]time.Duration{}}
}

func (l *ledger) add(r *record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.changed = make(chan struct{}, 1)
	r.created = time.Now()
	r.touched = r.created
	l.all[r.name] = r
	l.list = append(l.list, r)
}

// remove makes random choose the pod no more. all keeps it: events of its end still come.
func (l *ledger) remove(r *record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, o := range l.list {
		if o == r {
			l.list[i] = l.list[len(l.list)-1]
			l.list = l.list[:len(l.list)-1]
			return
		}
	}
}

// random returns the name of a pod that is there.
func (l *ledger) random(r *rand.Rand) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.list) == 0 {
		return "none"
	}
	return l.list[r.IntN(len(l.list))].name
}

func (l *ledger) get(name string) *record {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all[name]
}

// change changes a record and wakes the goroutine that waits for it.
func (l *ledger) change(r *record, change func()) {
	l.mu.Lock()
	change()
	l.mu.Unlock()
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// check calls ask with the ledger locked.
func (l *ledger) check(ask func() bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return ask()
}

// held notes that a hold of the pod began (1) or ended (-1).
func (l *ledger) held(r *record, n int) {
	l.change(r, func() {
		r.touched = time.Now()
		r.standing += n
		if n > 0 {
			r.holds++
		}
		l.standing += n
		l.stood = r.touched
	})
}

// see adds what the API has of a pod, and returns what is wrong with it.
func (l *ledger) see(r *record, p *corev1.Pod) (wrong []string) {
	l.change(r, func() {
		r.status = p.Status
		ready := labtest.Ready(p)
		// A pod that is being deleted ends as its containers end.
		dying := r.doomed || p.DeletionTimestamp != nil
		switch {
		case p.Status.Phase == corev1.PodFailed && r.want != wantFailed && !dying:
			wrong = append(wrong, "it failed: "+p.Status.Reason+" "+p.Status.Message)
		case p.Status.Phase == corev1.PodSucceeded && r.want != wantSucceeded && !dying:
			wrong = append(wrong, "it succeeded, and is meant to run on")
		}
		if n := restarts(p); n > 0 && r.want != wantCrashing && !r.faulty {
			wrong = append(wrong, "a container was started again")
		}
		if r.want == wantReady && r.wasReady && !ready && !dying && !r.faulty {
			wrong = append(wrong, "it was Ready and is not any more")
		}
		r.wasReady = ready
		wrong = slices.DeleteFunc(wrong, r.known)
		if r.reached == 0 && !dying && has(r.want, p) {
			r.reached = max(1, time.Since(r.created))
			l.timed(r)
		}
	})
	return wrong
}

// known reports whether the same was wrong with the pod before.
func (r *record) known(text string) bool {
	if r.wrong == nil {
		r.wrong = map[string]bool{}
	}
	was := r.wrong[text]
	r.wrong[text] = true
	return was
}

// timed keeps how long a pod that was not touched took to be Ready. It must take no longer while other pods are held.
func (l *ledger) timed(r *record) {
	if r.first || r.want != wantReady || r.holds > 0 || r.faults > 0 {
		return
	}
	which := unheldWindow
	if l.standing > 0 || l.stood.After(r.created) {
		which = heldWindow
	}
	l.took[which] = append(l.took[which], r.reached)
}

const (
	heldWindow   = "others held"
	unheldWindow = "no pod held"
)

func restarts(p *corev1.Pod) (n int32) {
	for _, list := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
		for _, c := range list {
			n = max(n, c.RestartCount)
		}
	}
	return n
}

func has(want expectation, p *corev1.Pod) bool {
	switch want {
	case wantReady:
		return labtest.Ready(p)
	case wantSucceeded:
		return p.Status.Phase == corev1.PodSucceeded
	case wantFailed:
		return p.Status.Phase == corev1.PodFailed
	case wantCrashing:
		return restarts(p) > 0
	}
	return false
}
