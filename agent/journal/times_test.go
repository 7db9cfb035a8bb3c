package journal

import (
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire/eventtest"
)

// makers are all functions of the journal that make events, with a way to make each do so.
var makers = []struct {
	function string
	kind     agentpb.Kind
	make     func(*rig) []*agentpb.Event
}{
	{"Journal.dropEvent", agentpb.Kind_DROP, oneLoss},
	{"Watcher.addDrops", agentpb.Kind_DROP, oneWatcherDrop},
	{"story.fold", agentpb.Kind_NOTE, oneFold},
	{"history.drop", agentpb.Kind_DROP, oneCut},
}

// TestEventsHaveTimes: every event has a time, whichever function makes it.
func TestEventsHaveTimes(t *testing.T) {
	for _, m := range makers {
		t.Run(m.function, func(t *testing.T) {
			r := newRig(t, Options{})
			eventtest.CheckTimes(t, m.make(r), m.kind, r.begun)
		})
	}
}

// TestMakersAreAll: makers has every function of the journal that makes events.
func TestMakersAreAll(t *testing.T) {
	known := []string{"queue.event"} // which returns an event that another function made
	for _, m := range makers {
		known = append(known, m.function)
	}
	eventtest.CheckMakers(t, "Event", known)
}

// oneLoss loses calls that a probe saw.
func oneLoss(r *rig) []*agentpb.Event {
	w := r.watcher(Wanted{Node: true, Live: true})
	r.Lose(3)
	return []*agentpb.Event{r.untilDrop(w)}
}

// oneWatcherDrop pushes more to a watcher than it may keep.
func oneWatcherDrop(r *rig) []*agentpb.Event {
	w := r.watcher(Wanted{Node: true})
	wall, mono := r.now()
	for i := range watcherEvents + 10 {
		w.push(&Event{Seq: uint64(i) + 1, Wall: wall, Mono: mono, Kind: agentpb.Kind_NOTE}, []byte{8, 1, 16, 1, 24, 1})
	}
	var last []kept
	for seen := 0; seen < watcherEvents; seen += len(last) {
		last = r.nextEvents(w)
	}
	return decoded(r.t, last[len(last)-1:])
}

// oneFold fills a recorder until it folds syncs of a pod.
func oneFold(r *rig) []*agentpb.Event {
	wall, mono := r.now()
	rec := newRecorder(2 << 20)
	p := podOf(1, "u")
	for seq := uint64(1); rec.folded == 0; seq++ {
		e := &Event{Seq: seq, Wall: wall, Mono: mono, Kind: agentpb.Kind_ENTER, Pod: p, Sync: uint32(seq / 10)}
		rec.add(e, e.appendTo(nil))
	}
	want := wants(Wanted{})
	return decoded(r.t, rec.history(&want).all())
}

// oneCut reads a history that is cut after its first message.
func oneCut(r *rig) []*agentpb.Event {
	for range 2 * batchEvents {
		r.Put(Event{Kind: agentpb.Kind_NOTE})
	}
	r.settle()
	var all []kept
	for _, begin := range []bool{true, false} {
		w := r.watcher(Wanted{Node: true, History: true})
		if begin {
			all = append(all, w.history.read()...)
		}
		w.history.cutAt(r.recorder.taken + historyKeeps + 1)
		all = append(all, w.history.all()...)
	}
	return decoded(r.t, all)
}
