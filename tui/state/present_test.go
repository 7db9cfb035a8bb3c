package state

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/podstep/podstep/agent/agentpb"
)

// TestToldHold: the agent tells of a hold before its events come, and all parts
// of the screen name the step that it is at.
func TestToldHold(t *testing.T) {
	r := record(t)
	const heldAt = 1766 // pod held is held at its sandbox
	for _, n := range []int{heldAt - 1, heldAt - 2, heldAt - 20} {
		s := r.upTo(n)
		s.SetLink(LinkLive, "live")
		now := time.Unix(0, s.origin+s.now.time+int64(time.Millisecond))
		s.Tick(now)
		s.SelectPodNamed("default", "held")
		key, pod, _ := s.Selected()
		s.SetHolds([]*agentpb.HoldInfo{{Id: 1, Pod: &agentpb.Pod{Namespace: "default", Name: "held", Uid: pod.UID}, Step: "cri.RunPodSandbox",
			On: "enter", Since: timestamppb.New(now), Lease: durationpb.New(time.Minute)}}, now)
		sc := s.Screen(allRows)
		check(t, sc, allRows)
		row := sc.Pods.Rows[sc.Pods.Cursor]
		if row.Mark != PodHeld || row.Where != "RunPodSandbox" || row.Line != "before: RunPodSandbox" || row.For != 0 || row.Left != time.Minute {
			t.Errorf("%d events: pod %+v", n, row)
		}
		if !strings.Contains(sc.Why.Text, "before “RunPodSandbox”") || sc.Header.Held == 0 || sc.Hold.Step != s.CurrentStep(key) {
			t.Errorf("%d events: why %+v, held %d, banner %+v, step %s", n, sc.Why, sc.Header.Held, sc.Hold, s.CurrentStep(key))
		}
		for _, line := range sc.Story.Rows {
			if line.Mark == RowHeld && line.Step != "cri.RunPodSandbox" {
				t.Errorf("%d events: row %+v", n, line)
			}
		}
		if n == heldAt-1 && sc.Detail.Step != "cri.RunPodSandbox" {
			t.Errorf("detail of %s", sc.Detail.Step)
		}
	}
}

// TestFollowsAgain: who selects where the pod is goes with it again, and is told
// of no newer events.
func TestFollowsAgain(t *testing.T) {
	r := record(t)
	s := r.upTo(1766)
	s.SetLink(LinkLive, "live")
	s.SelectPodNamed("default", "held")
	s.SetFocus(PaneMain)
	if !s.SelectStep("cri.RunPodSandbox") || !s.Screen(allRows).Story.Follow {
		t.Error("the held call is selected and not followed")
	}
	s.Move(-1)
	if s.Screen(allRows).Story.Follow {
		t.Error("another row is selected, and it follows")
	}
	left := s.leftAt
	s.leftAt -= 3 // as if events had come
	if st := s.Screen(allRows).Story; st.Newer != 3 {
		t.Errorf("%d newer events", st.Newer)
	}
	s.leftAt = left
	id := ""
	for _, row := range s.Screen(allRows).Story.Rows {
		if row.Mark == RowHeld {
			id = row.ID
		}
	}
	s.SelectRow(id)
	if st := s.Screen(allRows).Story; !st.Follow || st.Newer != 0 {
		t.Errorf("follow %t, %d newer", st.Follow, st.Newer)
	}
	s.ToggleFollow()
	if s.Screen(allRows).Story.Follow {
		t.Error("it cannot be made to stay")
	}
}
