package agent

import (
	"runtime"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
)

// TestLossIsReported: when the queue overflows, even a watcher without room is told how much was lost, and gets every
// injected fault.
func TestLossIsReported(t *testing.T) {
	const more, faults = 100, 10
	r := newRig(t, Options{})
	w := r.watcher(&agentpb.WatchRequest{Node: true})
	r.watch(w, false)
	r.journal.out.Lock() // the journal stands still, and takes no second batch
	put := int64(0)
	for lost := uint64(0); lost < more; put++ {
		r.journal.put(event{kind: agentpb.Kind_ENTER})
		r.journal.mu.Lock()
		lost = r.journal.dropped[agentpb.Kind_ENTER]
		r.journal.mu.Unlock()
	}
	for range faults {
		r.journal.put(event{kind: agentpb.Kind_FAULT})
	}
	r.journal.out.Unlock()
	for !r.handedOn(w) { // and the watcher's client reads nothing meanwhile
		runtime.Gosched()
	}

	seen, lost, injected := int64(0), int64(0), 0
	for seen+lost < put || injected < faults {
		for _, e := range decoded(t, r.nextEvents(w)) {
			switch e.Kind {
			case agentpb.Kind_ENTER:
				seen++
			case agentpb.Kind_FAULT:
				injected++
			case agentpb.Kind_DROP:
				for _, f := range e.Fields {
					switch f.Name {
					case "enter":
						lost += f.GetNumber()
					case "fault", "drop":
						t.Fatalf("%d events of kind %s are lost", f.GetNumber(), f.Name)
					}
				}
			}
		}
	}
	if seen+lost != put || lost < more {
		t.Errorf("of %d events %d came and %d are reported as lost", put, seen, lost)
	}
}

// handedOn reports whether the journal has handed everything to the watcher.
func (r *rig) handedOn(w *watcher) bool {
	j := r.journal
	j.mu.Lock()
	seq, over := j.seq, j.queue.len() == 0 && !j.dropping
	j.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	return over && w.last.seq == seq
}
