package state

import (
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// TestFrozen: a frozen screen does not change while events arrive.
func TestFrozen(t *testing.T) {
	r := record(t)
	s := New(r.info, probes.MustLoad(), words.English)
	s.SetLink(screen.LinkLive, "live")
	half := len(r.batches) / 2
	for _, b := range r.batches[:half] {
		s.Add(b)
	}
	s.SelectPodNamed("default", "no-image")
	s.Tick(time.Unix(0, s.h.Origin()+s.lives.Now().Time+5e8))
	want := dump(s.Screen(allRows))
	s.ToggleFreeze()
	for _, b := range r.batches[half:] {
		s.Add(b)
	}
	s.Tick(time.Unix(0, s.h.Origin()+s.lives.Now().Time+9e9))
	sc := s.Screen(allRows)
	if !sc.Header.Frozen || sc.Story().Newer == 0 {
		t.Errorf("frozen %t, newer %d", sc.Header.Frozen, sc.Story().Newer)
	}
	strip := func(d string) string {
		var out []string
		for _, l := range strings.Split(d, "\n") {
			if !strings.HasPrefix(l, "story") && !strings.Contains(l, "· ") {
				out = append(out, l)
			}
		}
		return strings.Join(out, "\n")
	}
	if got := dump(sc); strip(got) != strip(want) {
		t.Error(firstDiff(strip(want), strip(got)))
	}
	s.ToggleFreeze()
	if dump(s.Screen(allRows)) == want {
		t.Error("it stays frozen")
	}
}

func TestHolds(t *testing.T) {
	r := record(t)
	s := r.upTo(1766) // pod held is held at its sandbox
	s.SetLink(screen.LinkLive, "live")
	now := time.Unix(0, s.h.Origin()+s.lives.Now().Time)
	s.Tick(now)
	pod := &agentpb.Pod{Namespace: "default", Name: "held", Uid: "85bc6070-53dc-48e0-b7f5-6bccd6cd7f50"}
	s.SetHolds([]*agentpb.HoldInfo{
		{Id: 2, Pod: &agentpb.Pod{Namespace: "x", Name: "later", Uid: "other"}, Ends: durationpb.New(time.Hour), EndsBy: "lease", Step: "sync.pod", On: "enter", Node: true},
		{Id: 1, Pod: pod, Step: "cri.RunPodSandbox", On: "enter", Ends: durationpb.New(20 * time.Second), EndsBy: "grace\x1b",
			Budget: &agentpb.Budget{Timer: "grace\x1b", Left: durationpb.New(20 * time.Second)}},
	}, now)
	s.Tick(now.Add(5 * time.Second))
	s.SelectPodNamed("default", "held")
	sc := s.Screen(allRows)
	check(t, sc, allRows)
	want := screen.HoldBanner{Count: 2, Pod: "default/held", Step: "cri.RunPodSandbox", On: "enter", Left: 15 * time.Second, Timer: `grace\x1b`, Node: true, UID: pod.Uid, Selected: true}
	if sc.Hold == nil || *sc.Hold != want {
		t.Errorf("banner %+v, want %+v", sc.Hold, want)
	}
	key, _, _ := s.Selected()
	if h := s.Held(key); h == nil || h.Id != 1 {
		t.Errorf("hold %v", h)
	}
	if got := s.CurrentStep(key); got != "cri.RunPodSandbox" {
		t.Errorf("current step %q", got)
	}
	row := sc.Story().Rows[sc.Story().Cursor]
	if row.Mark != screen.RowHeld || row.Step != "cri.RunPodSandbox" || row.Left != 15*time.Second || !row.CRI {
		t.Errorf("row %+v", row)
	}
	if !strings.Contains(sc.Why.Text, "podstep holds the pod before") || sc.Why.Evidence != "hold, event 1766" {
		t.Errorf("why %+v", sc.Why)
	}
	s.SetHolds(nil, now)
	if b := s.Screen(allRows).Hold; b != nil {
		t.Errorf("banner %+v without a hold", b)
	}
}

func TestBreakpoints(t *testing.T) {
	s := record(t).play(words.English)
	now := time.Unix(1000, 0)
	s.Tick(now)
	s.SetBreakpoints([]*agentpb.Breakpoint{
		{Id: 1, Spec: &agentpb.AddBreakpointRequest{Pods: &agentpb.PodSelector{Namespace: "default", Name: "web-*", Labels: map[string]string{"b": "2", "a": "1"}},
			Step: "cri.*", On: agentpb.On_ON_ERROR, SlowerThan: durationpb.New(2 * time.Second)}, Hits: 3, Expires: timestamppb.New(now.Add(time.Minute))},
		{Id: 2, Spec: &agentpb.AddBreakpointRequest{Step: "sync.volumes", On: agentpb.On_ON_EXIT, Action: &agentpb.AddBreakpointRequest_Fail{Fail: "no\ndisk"}},
			Refused: []*agentpb.Refused{{Step: "merge.merge", Problem: &agentpb.Problem{Code: agentpb.Problem_STEP_NOT_SEEN}}}},
		{Id: 3, Spec: &agentpb.AddBreakpointRequest{Action: &agentpb.AddBreakpointRequest_Delay{Delay: durationpb.New(time.Second)}}},
	}, now)
	s.SetMain(screen.MainBreaks)
	s.Move(1)
	l := s.Screen(allRows).Breaks()
	want := []screen.BreakRow{
		{ID: 1, Pods: "default/web-* a=1,b=2", Steps: "cri.*", When: "error, slower than 2.0 s", Action: "holds", Hits: 3, Expires: time.Minute},
		{ID: 2, Pods: "*", Steps: "sync.volumes", When: "exit", Action: "fails: no disk", Refused: "merge.merge: this kubelet's probe does not see it"},
		{ID: 3, Pods: "*", When: "enter", Action: "delays 1.0 s"},
	}
	if len(l.Rows) != 3 || l.Cursor != 1 {
		t.Fatalf("%+v", l)
	}
	for i, r := range l.Rows {
		if r != want[i] {
			t.Errorf("%+v, want %+v", r, want[i])
		}
	}
}

// TestKeys walks through a story as a reader does.
func TestKeys(t *testing.T) {
	s := record(t).play(words.English)
	s.SelectPodNamed("default", "no-image")
	size := screen.Sizes{Pods: 5, Main: 12, Detail: 5}
	row := func() screen.Row {
		st := s.Screen(size).Story()
		return st.Rows[st.Cursor]
	}
	if !s.Screen(size).Story().Follow || row().Step != "image.pull" {
		t.Fatalf("it follows %+v", row())
	}
	s.Open() // from the pods to the story
	s.Move(-1)
	if r := row(); r.Step != "image.ensure" || s.Screen(size).Story().Follow {
		t.Errorf("one up is %+v", r)
	}
	s.Back()
	if r := row(); r.Open || r.Step != "image.ensure" {
		t.Errorf("closed: %+v", r)
	}
	s.Back()
	if r := row(); r.Step != "rt.start" {
		t.Errorf("around it is %+v", r)
	}
	s.Home()
	if r := row(); r.Kind != screen.RowChapter {
		t.Errorf("the first row is %+v", r)
	}
	if !s.NextError(1) || row().Mark != screen.RowFailed && row().Mark != screen.RowWaits {
		t.Errorf("the next error is %+v", row())
	}
	id := row().ID
	s.Home()
	s.SelectRow(id)
	if row().ID != id {
		t.Errorf("%s is selected, not %s", row().ID, id)
	}
	for range 20 {
		if !s.Back() {
			break
		}
	}
	if s.focus != screen.PanePods || s.Back() {
		t.Error("going back does not end")
	}
	s.SetFocus(screen.PaneMain)
	s.End()
	if !s.Screen(size).Story().Follow {
		t.Error("the end is not followed")
	}
	pos, ok := s.Seen(screen.PodKey(s.pod), "cri.PullImage", probes.Exit, 0)
	if !ok {
		t.Fatal("the pull was not seen")
	}
	s.SeekEvent(pos)
	s.StepBack()
	if at := s.view().at; at > pos {
		t.Errorf("a step back from %d goes to %d", pos, at)
	}
	if !s.StepForward() || s.view().at != pos+1 {
		t.Errorf("and forward again to %d, not %d", s.view().at, pos+1)
	}
}
