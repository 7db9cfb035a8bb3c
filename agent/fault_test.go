package agent

import (
	"slices"
	"testing"
	"unsafe"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes/hook"
)

// unreadable returns a string that cannot be read: it claims to have 8 bytes at the address 0.
func unreadable() string { return *(*string)(unsafe.Pointer(&[2]uintptr{0, 8})) }

// TestJournalRecovers: an event at which the journal panics is lost and counted. The events around it are not lost.
func TestJournalRecovers(t *testing.T) {
	note := func(err string) event { return event{kind: agentpb.Kind_NOTE, err: err} }
	for name, fail := range map[string]func(r *rig, w *watcher) (undo func()){
		"encode": func(r *rig, _ *watcher) func() {
			r.journal.put(note(unreadable()))
			return func() {}
		},
		"recorder": func(r *rig, _ *watcher) func() {
			r.journal.out.Lock()
			stories := r.journal.recorder.stories
			r.journal.recorder.stories = nil
			r.journal.out.Unlock()
			r.journal.put(note("bad"))
			return func() { r.journal.recorder.stories = stories }
		},
		"watcher": func(r *rig, w *watcher) func() {
			r.journal.out.Lock()
			w.selector = nil
			r.journal.out.Unlock()
			r.journal.put(event{kind: agentpb.Kind_NOTE, pod: &pod{}, err: "bad"})
			return func() {}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Options{})
			w, err := r.newWatcher(&agentpb.WatchRequest{Node: true})
			if err != nil {
				t.Fatal(err)
			}
			r.watch(w, false)
			defer r.journal.unwatch(w)
			before := hook.Faults()
			r.journal.put(note("first"))
			r.untilNote(w, "first")
			undo := fail(r, w)
			dropped := r.untilDrop(w)
			if hook.Faults() == before {
				t.Error("the fault is not counted")
			}
			r.journal.out.Lock()
			undo()
			r.journal.out.Unlock()
			r.journal.put(note("last"))
			if len(dropped.Fields) != 1 || dropped.Fields[0].Name != "note" || dropped.Fields[0].GetNumber() != 1 {
				t.Errorf("what was lost is reported as %v", dropped)
			}
			r.untilNote(w, "last")
			for _, e := range r.nodeEvents() {
				if e.Error == "bad" && name == "recorder" {
					t.Errorf("the event is there in spite of the fault: %v", e)
				}
			}
		})
	}
}

// untilNote waits for a note. A goroutine of an earlier test may still come to a
// step, and put events beside it.
func (r *rig) untilNote(w *watcher, err string) {
	r.t.Helper()
	for {
		if slices.ContainsFunc(decoded(r.t, r.nextEvents(w)), func(e *agentpb.Event) bool { return e.Error == err }) {
			return
		}
	}
}

func (r *rig) nextEvents(w *watcher) []kept {
	r.t.Helper()
	events, err := w.next(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return events
}

// untilDrop waits until the watcher gets a drop event.
func (r *rig) untilDrop(w *watcher) *agentpb.Event {
	r.t.Helper()
	for {
		for _, e := range decoded(r.t, r.nextEvents(w)) {
			if e.Kind == agentpb.Kind_DROP {
				return e
			}
		}
	}
}

// nodeEvents returns the node's story.
func (r *rig) nodeEvents() []*agentpb.Event {
	r.t.Helper()
	w, err := r.newWatcher(&agentpb.WatchRequest{Node: true})
	if err != nil {
		r.t.Fatal(err)
	}
	r.settle()
	r.watch(w, true)
	defer r.journal.unwatch(w)
	return decoded(r.t, w.history.all())
}

// TestPodSeenFails: a panic in PodSeen must not cost an event.
func TestPodSeenFails(t *testing.T) {
	r := newRig(t, Options{PodSeen: func() { panic("of a test") }})
	_ = r.sync(newPod("default", "web"), nil)
	if events := r.events("web"); len(events) != 6 {
		t.Errorf("%d events, want 6: %v", len(events), r.names(events))
	}
}
