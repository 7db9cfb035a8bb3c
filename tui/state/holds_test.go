package state

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/tui/screen"
)

// TestHoldEnds: a hold ends when the agent says so, by the timer that the agent names. If no timer runs, the screen
// says so.
func TestHoldEnds(t *testing.T) {
	field := eventtest.Field
	const lease = 5 * time.Minute
	budget := &agentpb.Budget{Timer: "grace", Left: durationpb.New(30 * time.Second)}
	later := &agentpb.Budget{Timer: "grace", Left: durationpb.New(time.Hour)}
	for name, c := range map[string]struct {
		info   *agentpb.HoldInfo
		fields []*agentpb.Field
		want   holdEnd
	}{
		"a timer later": {&agentpb.HoldInfo{Lease: durationpb.New(lease), Budget: later, Ends: durationpb.New(lease), EndsBy: "lease"},
			[]*agentpb.Field{field("lease", lease), field("timer", "grace"), field("budget", time.Hour), field("ends", lease), field("endsBy", "lease")},
			holdEnd{int64(lease), "", false}},
		"a timer, less its margin": {&agentpb.HoldInfo{Lease: durationpb.New(lease), Budget: budget, Ends: durationpb.New(24 * time.Second), EndsBy: "grace"},
			[]*agentpb.Field{field("lease", lease), field("timer", "grace"), field("budget", 30*time.Second), field("ends", 24*time.Second), field("endsBy", "grace")},
			holdEnd{int64(24 * time.Second), "grace", false}},
		"no timer": {&agentpb.HoldInfo{Lease: durationpb.New(lease), Ends: durationpb.New(lease), EndsBy: "lease"},
			[]*agentpb.Field{field("lease", lease), field("ends", lease), field("endsBy", "lease")}, holdEnd{int64(lease), "", true}},
	} {
		if got := endOf(c.info, time.Unix(0, 0)); got != c.want {
			t.Errorf("%s: the agent's list: %+v, want %+v", name, got, c.want)
		}
		raw := eventtest.Encode(&agentpb.Event{Kind: agentpb.Kind_HOLD, Fields: c.fields})
		if got := endOfEvent(raw, 0); got != c.want {
			t.Errorf("%s: the event: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestHeldDetail: the call at which a pod is held says how long the hold lasts, and why.
func TestHeldDetail(t *testing.T) {
	r := record(t)
	s := r.upTo(1766) // pod held is held at its sandbox
	s.SetLink(screen.LinkLive, "live")
	now := time.Unix(0, s.h.Origin()+s.lives.Now().Time)
	s.SelectPodNamed("default", "held")
	pod := &agentpb.Pod{Namespace: "default", Name: "held", Uid: s.podAt(s.pod).Entity.UID}
	for want, h := range map[string]*agentpb.HoldInfo{
		"Goes on by itself in 19 s, before the kubelet's timer grace runs out.": {Ends: durationpb.New(20 * time.Second), EndsBy: "grace", Budget: &agentpb.Budget{Timer: "grace"}},
		"the hold costs nothing. Goes on by itself in 19 s, when its lease":     {Ends: durationpb.New(20 * time.Second), EndsBy: "lease"},
	} {
		h.Id, h.Pod, h.Step, h.On = 1, pod, "cri.RunPodSandbox", "enter"
		s.SetHolds([]*agentpb.HoldInfo{h}, now)
		s.Tick(now.Add(time.Second))
		sc := s.Screen(allRows)
		if !strings.Contains(sc.Detail.Held, want) {
			t.Errorf("%q, want %q", sc.Detail.Held, want)
		}
		row := sc.Pods.Rows[sc.Pods.Cursor]
		if story := sc.Story().Rows[sc.Story().Cursor]; row.Left != 19*time.Second || story.Left != row.Left || sc.Hold.Left != row.Left {
			t.Errorf("list %s, pipeline %s, banner %s", row.Left, story.Left, sc.Hold.Left)
		}
	}
	s.SetFocus(screen.PaneMain)
	s.Home()
	if d := s.Screen(allRows).Detail; d != nil && d.Held != "" {
		t.Errorf("a row at which it is not held says %q", d.Held)
	}
}

// TestSelectHeldCall: while a pod is held at a step, selecting the step selects the held call, not one that others
// make meanwhile.
func TestSelectHeldCall(t *testing.T) {
	s := record(t).upTo(1766) // pod held is held at its sandbox
	s.SelectPodNamed("default", "held")
	key, _, _ := s.Selected()
	if !s.SelectStep(s.CurrentStep(key)) {
		t.Fatal("the step is not found")
	}
	st := s.Screen(allRows).Story()
	if row := st.Rows[st.Cursor]; row.Mark != screen.RowHeld {
		t.Errorf("selected %+v", row)
	}
}
