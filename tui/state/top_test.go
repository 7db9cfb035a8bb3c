package state

import (
	"reflect"
	"slices"
	"testing"

	"github.com/podstep/podstep/agent/story/spread"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

var topSizes = screen.Sizes{Pods: 5, Main: 200, Detail: 10, Width: 100}

// TestTopLeadsToWorst: the detail pane shows the longest call of the selected step. Enter goes to that call in the story of
// its pod.
func TestTopLeadsToWorst(t *testing.T) {
	s := record(t).play(words.English)
	s.SelectPodNamed("default", "web")
	s.SetMain(screen.MainTop)
	all := s.Screen(topSizes).Top()
	if all == nil || len(all.Rows) < 20 || all.Cursor != 0 || all.Of != "" {
		t.Fatalf("the list is %+v", all)
	}
	other := 0
	for i := range all.Rows {
		want := all.Rows[i]
		s.SetMain(screen.MainTop)
		s.SelectTop(want.Step)
		sc := s.Screen(topSizes)
		if got := sc.Top().Rows[sc.Top().Cursor].Step; got != want.Step || s.SelectedStep() != want.Step {
			t.Fatalf("%s is selected, want %s", got, want.Step)
		}
		if sc.Detail == nil || sc.Detail.Step != want.Step {
			t.Fatalf("at %s the detail is %+v", want.Step, sc.Detail)
		}
		s.Open()
		key, pod, is := s.Selected()
		name := "node-1"
		if is {
			name = pod.NamespacedName()
		}
		if is && pod.Name != "web" {
			other++
		}
		sc = s.Screen(topSizes)
		if sc.Main != screen.MainStory || name != want.Worst {
			t.Fatalf("Enter at %s leads to %s of %s (%d), want the pipeline of %s", want.Step, sc.Main, name, key, want.Worst)
		}
		if n := s.selectedLine(s.view()); n == nil || s.h.Step(s.stepOf(n)).Name != want.Step && n.kind != screen.RowSync {
			t.Errorf("Enter at %s selects %+v", want.Step, n)
		}
	}
	if other == 0 {
		t.Error("no step leads to another pod")
	}
}

// TestTopOfPod: m shows only the calls of the selected pod, and again those of all.
func TestTopOfPod(t *testing.T) {
	s := record(t).play(words.English)
	s.SetMain(screen.MainTop)
	calls := func() (n int) {
		for _, r := range s.Screen(topSizes).Top().Rows {
			n += r.Calls
		}
		return n
	}
	all := calls()
	if !s.Many() {
		t.Error("the list is not of all pods at first")
	}
	s.ToggleManyTop()
	sum := 0
	for i := range s.h.Pods() {
		s.selectPod(i)
		sum += calls()
		for _, r := range s.Screen(topSizes).Top().Rows {
			if i > 0 && r.Worst != s.podAt(i).Entity.NamespacedName() {
				t.Errorf("a call of %s is in the list of pod %d", r.Worst, i)
			}
		}
	}
	if s.Many() || sum != all {
		t.Errorf("the pods have %d calls together, and there are %d", sum, all)
	}
	s.ToggleManyTop()
	if got := calls(); got != all {
		t.Errorf("%d calls of all pods, then %d", all, got)
	}
}

// TestTopGoesBack: at an earlier position the list is as it was there, whatever was shown since.
func TestTopGoesBack(t *testing.T) {
	s := record(t).play(words.English)
	s.SetLink(screen.LinkReplay, "replay")
	s.SetMain(screen.MainTop)
	shown := map[int]*screen.Top{}
	const parts = 7
	for i := 1; i <= parts; i++ {
		s.SeekEvent(i * s.Events() / parts)
		shown[i] = s.Screen(topSizes).Top()
	}
	if len(shown[1].Rows) == 0 || reflect.DeepEqual(shown[1], shown[parts]) {
		t.Fatal("the list is the same everywhere")
	}
	for i := parts; i >= 1; i-- {
		s.SeekEvent(i * s.Events() / parts)
		if got := s.Screen(topSizes).Top(); !reflect.DeepEqual(got.Rows, shown[i].Rows) || got.Seen != shown[i].Seen {
			t.Errorf("part %d of %d differs when it is shown again", i, parts)
		}
	}
}

// TestTopMoves: the selection stays with its step while the order changes; the next error is a step with one; a text is
// found.
func TestTopMoves(t *testing.T) {
	s := record(t).play(words.English)
	s.SetMain(screen.MainTop)
	s.Move(5)
	step := s.SelectedStep()
	for _, want := range append(slices.Clone(spread.Orders[1:]), spread.Orders[0]) {
		s.NextTopOrder()
		sc := s.Screen(topSizes).Top()
		if sc.Order != want || sc.Rows[sc.Cursor].Step != step {
			t.Errorf("by %s, want %s; %s is selected, want %s", sc.Order, want, sc.Rows[sc.Cursor].Step, step)
		}
	}
	s.Home()
	failed := 0
	s.Screen(topSizes) // as the key comes after a frame
	for ; s.NextError(1); failed++ {
		sc := s.Screen(topSizes).Top()
		if sc.Rows[sc.Cursor].Errors == 0 {
			t.Errorf("%s is selected", sc.Rows[sc.Cursor].Step)
		}
	}
	if failed == 0 {
		t.Error("no step has an error")
	}
	s.End()
	if sc := s.Screen(topSizes).Top(); sc.Cursor != len(sc.Rows)-1 {
		t.Errorf("the end is row %d of %d", sc.Cursor, len(sc.Rows))
	}
	name, rows := s.Rows()
	_, end := rows.Rows()
	if name == nil || end != s.Screen(topSizes).Top().Total || rows.Text(rows.At()) == "" {
		t.Errorf("%d rows can be searched", end)
	}
	rows.Go(0)
	if s.Screen(topSizes).Top().Cursor != 0 {
		t.Error("the first row is not selected")
	}
}

// TestTopForgotten: a step stays in the list when its longest call is forgotten, and then leads nowhere.
func TestTopForgotten(t *testing.T) {
	info, batches := many(t, 40_000, 2)
	s := load(info, nil)
	s.SetLimit(1)
	for _, b := range batches {
		s.Add(b)
	}
	s.SetMain(screen.MainTop)
	forgotten := 0
	for _, r := range s.Screen(topSizes).Top().Rows {
		s.SetMain(screen.MainTop)
		s.SelectTop(r.Step)
		s.Screen(topSizes)
		if is := s.WorstForgotten(); is {
			forgotten++
			s.Open()
			if s.Screen(topSizes).Main != screen.MainTop {
				t.Errorf("%s leads somewhere", r.Step)
			}
		}
	}
	if forgotten == 0 {
		t.Error("no call is forgotten")
	}
}
