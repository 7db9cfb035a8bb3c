package state

import (
	"slices"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/agent/story/outline"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// TestFoldBars: the bar of a fold has a part for each call, and is not critical.
func TestFoldBars(t *testing.T) {
	s := record(t).play(words.English)
	folds := 0
	for _, pod := range []string{"web", "crashloop", "no-image", "missing"} {
		s.SelectPodNamed("default", pod)
		times := map[string]int{}
		s.SetMain(screen.MainStory)
		for _, r := range s.Screen(allRows).Story().Rows {
			if r.Kind == screen.RowFolded {
				times[r.ID] = r.Times
			}
		}
		s.SetMain(screen.MainTimeline)
		for _, b := range s.Screen(allRows).Timeline().Bars {
			n, fold := times[b.ID]
			if !fold {
				continue
			}
			folds++
			if b.Critical || len(b.Parts) != min(n, maxParts) {
				t.Errorf("%s: %q: critical %t, %d parts of %d", pod, b.Label, b.Critical, len(b.Parts), n)
			}
			for _, p := range b.Parts {
				if p.From < b.From || p.To > b.To || p.To < p.From {
					t.Errorf("%s: %q: %+v in %s..%s", pod, b.Label, p, b.From, b.To)
				}
			}
		}
	}
	if folds < 10 {
		t.Errorf("%d folds", folds)
	}
}

// TestIdleTurns: a turn that had nothing to do stays closed, even while it is the last one.
func TestIdleTurns(t *testing.T) {
	s := record(t).play(words.English)
	idle := 0
	for _, pod := range []string{"web", "crashloop"} {
		s.SelectPodNamed("default", pod)
		p := s.podAt(s.pod)
		for i := p.Turns.First; i < p.Turns.End(); i++ {
			tn := p.Turns.At(i)
			if tn.Done == none || tn.Eventful || tn.Kind > outline.Sync {
				continue
			}
			s.SeekEvent(tn.Done)
			for _, r := range s.Screen(allRows).Story().Rows {
				if r.ID == (lineKey{kind: keyTurn, a: tn.Item}).String() {
					idle++
					if r.Open {
						t.Errorf("%s: %q is open after event %d", pod, r.Label, tn.Done)
					}
				}
			}
		}
	}
	if idle == 0 {
		t.Error("no turn without anything to do")
	}
}

// TestPlain: the line of a pod in trouble is not the tail of a step's name, one call is not counted as several, and
// a fold begins with its first call.
func TestPlain(t *testing.T) {
	s := record(t).play(words.English)
	for at := 100; at < s.Events(); at += 97 {
		s.SeekEvent(at)
		for _, r := range s.Screen(allRows).Pods.Rows {
			if (r.Mark == life.Stuck || r.Mark == life.Retrying) && r.Where != "" {
				t.Errorf("%s is %s at %q", r.Name, r.Word, r.Where)
			}
		}
	}
	s.SelectPodNamed("default", "web")
	var before time.Duration
	folds := 0
	for _, r := range s.Screen(allRows).Story().Rows {
		if r.Kind == screen.RowFolded && r.Span != 0 {
			folds++
			if began := time.Duration(s.h.TimeAt(r.Event)); r.At < 0 || r.At > began {
				t.Errorf("%q began at %s", r.Label, r.At)
			}
		}
		if r.Label == "routine calls around it" && r.Times == 1 {
			t.Errorf("%+v", r)
		}
		before = max(before, r.At)
	}
	if folds == 0 || before == 0 {
		t.Errorf("%d folds", folds)
	}
}

// TestFailuresHangTogether: between a row that failed and the failure beneath it there is no row that is done. The
// turn in which a pod got its sandbox has a row of its own, however often it was tried again.
func TestFailuresHangTogether(t *testing.T) {
	failed := 0
	for _, pod := range []string{"no-image", "crashloop", "missing"} {
		s := record(t).play(words.English)
		s.SelectPodNamed("default", pod)
		s.OpenAll()
		var path []screen.Row // the rows around the present one
		for _, r := range s.Screen(screen.Sizes{Pods: 10, Main: maxOpen, Detail: 5, Width: 120}).Story().Rows {
			path = append(path[:min(r.Depth, len(path))], r)
			if r.Step == "rt.sandbox" && r.Mark == screen.RowDone && slices.ContainsFunc(path, func(up screen.Row) bool { return up.Kind == screen.RowFolded }) {
				t.Errorf("%s: the turn that made the sandbox is in a fold", pod)
			}
			if r.Mark != screen.RowFailed {
				continue
			}
			outer := slices.IndexFunc(path, func(up screen.Row) bool { return up.Mark == screen.RowFailed })
			for _, between := range path[outer:] {
				if failed++; between.Mark == screen.RowDone {
					t.Errorf("%s: %q is done between %q and %q, which failed", pod, between.Label, path[outer].Label, r.Label)
				}
			}
		}
	}
	if failed == 0 {
		t.Error("nothing has failed")
	}
}
