package journal

import (
	"testing"
	"unsafe"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes/hook"
)

// unreadable returns a string that cannot be read: it claims to have 8 bytes at the address 0.
func unreadable() string { return *(*string)(unsafe.Pointer(&[2]uintptr{0, 8})) }

// TestJournalRecovers: an event at which the journal panics is lost and counted. The events around it are not lost.
func TestJournalRecovers(t *testing.T) {
	note := func(err string) Event { return Event{Kind: agentpb.Kind_NOTE, Err: err} }
	for name, fail := range map[string]func(r *rig, w *Watcher) (undo func()){
		"encode": func(r *rig, _ *Watcher) func() {
			r.Put(note(unreadable()))
			return func() {}
		},
		"recorder": func(r *rig, _ *Watcher) func() {
			r.out.Lock()
			stories := r.recorder.stories
			r.recorder.stories = nil
			r.out.Unlock()
			r.Put(note("bad"))
			return func() { r.recorder.stories = stories }
		},
		"watcher": func(r *rig, w *Watcher) func() {
			r.out.Lock()
			w.want.Pods = nil
			r.out.Unlock()
			r.Put(Event{Kind: agentpb.Kind_NOTE, Pod: podOf(0, ""), Err: "bad"})
			return func() {}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Options{})
			w := r.watcher(Wanted{Node: true, Live: true})
			defer w.Close()
			before := hook.Faults()
			r.Put(note("first"))
			r.untilNote(w, "first")
			undo := fail(r, w)
			dropped := r.untilDrop(w)
			if hook.Faults() == before {
				t.Error("the fault is not counted")
			}
			r.out.Lock()
			undo()
			r.out.Unlock()
			r.Put(note("last"))
			if len(dropped.Fields) != 1 || dropped.Fields[0].Name != "note" || dropped.Fields[0].GetNumber() != 1 {
				t.Errorf("what was lost is reported as %v", dropped)
			}
			r.untilNote(w, "last")
			r.settle()
			for _, e := range decoded(t, r.keptOf(Wanted{Node: true})) {
				if e.Error == "bad" && name == "recorder" {
					t.Errorf("the event is there in spite of the fault: %v", e)
				}
			}
		})
	}
}
