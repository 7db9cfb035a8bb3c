package journal

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
	w := r.watcher(Wanted{Node: true, Live: true})
	r.out.Lock() // the journal stands still, and takes no second batch
	put := int64(0)
	for lost := uint64(0); lost < more; put++ {
		r.Put(Event{Kind: agentpb.Kind_ENTER})
		r.mu.Lock()
		lost = r.dropped[agentpb.Kind_ENTER]
		r.mu.Unlock()
	}
	for range faults {
		r.Put(Event{Kind: agentpb.Kind_FAULT})
	}
	r.out.Unlock()
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
func (r *rig) handedOn(w *Watcher) bool {
	r.mu.Lock()
	seq, over := r.seq, r.queue.len() == 0 && !r.dropping
	r.mu.Unlock()
	w.mu.Lock()
	defer w.mu.Unlock()
	return over && w.last.seq == seq
}
