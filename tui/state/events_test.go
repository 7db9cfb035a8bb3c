package state

import (
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// TestEventsOfPod: the list has only the selected pod's events, until the person asks for all or names pods by a
// filter. The detail is of the event under the cursor.
func TestEventsOfPod(t *testing.T) {
	sizes := screen.Sizes{Pods: 5, Main: 12}
	s := record(t).play(words.English)
	s.SetMain(screen.MainEvents)
	s.SetFocus(screen.PaneMain)
	pods := func() map[string]bool {
		out := map[string]bool{}
		for i := 0; i < 200; i++ {
			sc := s.Screen(sizes)
			l := sc.Events()
			if l.Cursor == none {
				t.Fatalf("nothing is selected of %d", l.Total)
			}
			row := l.Rows[l.Cursor]
			name := ""
			if row.Event.Pod != nil {
				name = row.Event.Pod.Name
			}
			out[name] = true
			if sc.Detail == nil || row.Event.Step != "" && sc.Detail.Step != row.Event.Step {
				t.Fatalf("the cursor is at %s, the detail is of %+v", row.Event.Step, sc.Detail)
			}
			if got := s.SelectedStep(); got != row.Event.Step {
				t.Fatalf("the cursor is at %s, the selected step is %s", row.Event.Step, got)
			}
			s.Move(-1)
		}
		return out
	}
	for _, name := range []string{"web", "no-image"} {
		s.SelectPodNamed("default", name)
		if got := pods(); len(got) != 1 || !got[name] {
			t.Errorf("with %s selected the events are of %v", name, got)
		}
	}
	s.ToggleManyEvents()
	s.End()
	if got := pods(); len(got) < 3 {
		t.Errorf("the events of all pods are of %v", got)
	}
	s.ToggleManyEvents()
	if err := s.SetFilter("pod=crashloop"); err != nil {
		t.Fatal(err)
	}
	s.End()
	if got := pods(); len(got) != 1 || !got["crashloop"] {
		t.Errorf("with a filter for crashloop the events are of %v", got)
	}
}

// TestEventOfLog: the row of a log has its values, and the error of its call.
func TestEventOfLog(t *testing.T) {
	s := New(&agentpb.InfoResponse{Node: "n"}, probes.MustLoad(), words.English)
	log := &agentpb.Event{Seq: 1, Kind: agentpb.Kind_NOTE, Error: "no such image", Fields: []*agentpb.Field{
		eventtest.Field("note", agentpb.NoteLog), eventtest.Field("breakpoint", int64(3)), eventtest.Field("image", "busybox"),
	}}
	s.Add(&agentpb.Batch{Events: [][]byte{eventtest.Encode(log)}})
	if got, want := s.eventRow(s.h.End()-1).Text, "no such image  breakpoint 3: image=busybox"; got != want {
		t.Errorf("the row is %q, want %q", got, want)
	}
}
