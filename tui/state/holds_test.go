package state

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/tui/screen"
)

// TestHoldEnds: a hold ends when the agent says so; of agents that do not say it,
// at the sooner of lease and budget. That no timer runs is said.
func TestHoldEnds(t *testing.T) {
	duration := func(name string, d time.Duration) *agentpb.Field {
		return &agentpb.Field{Name: name, Value: &agentpb.Field_Duration{Duration: int64(d)}}
	}
	word := func(name, value string) *agentpb.Field {
		return &agentpb.Field{Name: name, Value: &agentpb.Field_Text{Text: value}}
	}
	const lease = 5 * time.Minute
	budget := &agentpb.Budget{Timer: "grace", Left: durationpb.New(30 * time.Second)}
	later := &agentpb.Budget{Timer: "grace", Left: durationpb.New(time.Hour)}
	for name, c := range map[string]struct {
		info   *agentpb.HoldInfo
		fields []*agentpb.Field
		want   holdEnd
	}{
		"no timer": {&agentpb.HoldInfo{Lease: durationpb.New(lease)}, []*agentpb.Field{duration("lease", lease)}, holdEnd{int64(lease), "", true}},
		"a timer sooner": {&agentpb.HoldInfo{Lease: durationpb.New(lease), Budget: budget},
			[]*agentpb.Field{duration("lease", lease), word("timer", "grace"), duration("budget", 30*time.Second)}, holdEnd{int64(30 * time.Second), "grace", false}},
		"a timer later": {&agentpb.HoldInfo{Lease: durationpb.New(lease), Budget: later},
			[]*agentpb.Field{duration("lease", lease), word("timer", "grace"), duration("budget", time.Hour)}, holdEnd{int64(lease), "", false}},
		"a timer, less its margin": {&agentpb.HoldInfo{Lease: durationpb.New(lease), Budget: budget, Ends: durationpb.New(24 * time.Second), EndsBy: "grace"},
			[]*agentpb.Field{duration("lease", lease), word("timer", "grace"), duration("budget", 30*time.Second), duration("ends", 24*time.Second), word("endsBy", "grace")},
			holdEnd{int64(24 * time.Second), "grace", false}},
		"the lease, as sent": {&agentpb.HoldInfo{Lease: durationpb.New(lease), Ends: durationpb.New(lease), EndsBy: "lease"},
			[]*agentpb.Field{duration("lease", lease), duration("ends", lease), word("endsBy", "lease")}, holdEnd{int64(lease), "", true}},
	} {
		if got := endOf(c.info, time.Unix(0, 0)); got != c.want {
			t.Errorf("%s: the agent's list: %+v, want %+v", name, got, c.want)
		}
		raw, err := proto.Marshal(&agentpb.Event{Kind: agentpb.Kind_HOLD, Fields: c.fields})
		if err != nil {
			t.Fatal(err)
		}
		if got := endOfEvent(raw, 0); got != c.want {
			t.Errorf("%s: the event: %+v, want %+v", name, got, c.want)
		}
	}
}

// TestHeldDetail: the call at which a pod is held says until when, and why.
func TestHeldDetail(t *testing.T) {
	r := record(t)
	s := r.upTo(1766) // pod held is held at its sandbox
	s.SetLink(screen.LinkLive, "live")
	now := time.Unix(0, s.h.Origin()+s.lives.Now().Time)
	s.SelectPodNamed("default", "held")
	pod := &agentpb.Pod{Namespace: "default", Name: "held", Uid: s.of(s.pod).Entity.UID}
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

// TestSelectHeldCall: while a pod is held, its step is the call that is held,
// and not one that others make meanwhile.
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
