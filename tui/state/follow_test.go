package state

import (
	"testing"

	"github.com/podstep/podstep/tui/screen"
)

// TestFollowsAgain: the selection follows again after the person selects the row where the pod is. The screen then
// counts no newer events.
func TestFollowsAgain(t *testing.T) {
	r := record(t)
	s := r.upTo(1766)
	s.SetLink(screen.LinkLive, "live")
	s.SelectPodNamed("default", "held")
	s.SetFocus(screen.PaneMain)
	if !s.SelectStep("cri.RunPodSandbox") || !s.Screen(allRows).Story().Follow {
		t.Error("the held call is selected and not followed")
	}
	s.Move(-1)
	if s.Screen(allRows).Story().Follow {
		t.Error("another row is selected, and it follows")
	}
	left := s.leftAt
	s.leftAt -= 3 // as if events had come
	if st := s.Screen(allRows).Story(); st.Newer != 3 {
		t.Errorf("%d newer events", st.Newer)
	}
	s.leftAt = left
	id := ""
	for _, row := range s.Screen(allRows).Story().Rows {
		if row.Mark == screen.RowHeld {
			id = row.ID
		}
	}
	s.SelectRow(id)
	if st := s.Screen(allRows).Story(); !st.Follow || st.Newer != 0 {
		t.Errorf("follow %t, %d newer", st.Follow, st.Newer)
	}
	s.ToggleFollow()
	if s.Screen(allRows).Story().Follow {
		t.Error("it cannot be made to stay")
	}
}
