package state

import (
	"testing"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// TestSelectedRowStays: a call that was selected when it was new is still selected when its turn has ended, was
// folded, or has become one of many.
func TestSelectedRowStays(t *testing.T) {
	for name, r := range map[string]*recording{"woven": record(t), "attached": attached(t)} {
		all := r.play(words.English)
		for pod := range all.h.Pods() {
			for i := all.podAt(pod).Spans.First; i < all.podAt(pod).Spans.End(); i += 7 {
				sp := all.h.Span(*all.podAt(pod).Spans.At(i))
				if was, now := r.selectAndGoOn(pod, sp.ID, sp.Enter); was != now {
					t.Fatalf("%s: %s of pod %d: row %v was selected, then %v", name, all.h.Step(sp.Step).Name, pod, was, now)
				}
			}
		}
	}
}

// selectAndGoOn selects a call a few events after it began. It returns the key of its row then, and the key of the
// selected row at the end of the recording.
func (r *recording) selectAndGoOn(pod int, span uint64, enter int) (was, now lineKey) {
	s := New(r.info, probes.MustLoad(), words.English)
	s.SetLink(screen.LinkLive, "live")
	selected := false
	for i, b := range r.batches {
		s.Add(b)
		switch {
		case !selected && s.h.End() > enter+3:
			selected = true
			s.SelectPod(screen.PodKey(pod))
			if !s.SelectCall(span) {
				return was, now // a second sight of a call has no row
			}
			s.Stay()
			was = s.selectedLine(s.view()).key
		case selected && i%20 == 0:
			s.selectedLine(s.view()) // a frame is drawn
		}
	}
	if !selected {
		return was, now // the call is at the end of the recording
	}
	return was, s.selectedLine(s.view()).key
}

// TestCloseAllClosesAroundTheCursor: the selected row is closed away like the others.
func TestCloseAllClosesAroundTheCursor(t *testing.T) {
	s := record(t).play(words.English)
	s.SelectPodNamed("default", "web")
	if !s.SelectStep("cri.RunPodSandbox") {
		t.Fatal("the pod has no sandbox")
	}
	s.CloseAll()
	closed := s.Screen(allRows).Story().Total
	for _, r := range s.Screen(allRows).Story().Rows {
		if r.Depth > 1 {
			t.Errorf("row %q is not closed away", r.Label)
		}
	}
	if got := s.SelectedStep(); got == "cri.RunPodSandbox" {
		t.Errorf("after all rows were closed %s is selected", got)
	}
	if again := s.Screen(allRows).Story().Total; again != closed {
		t.Errorf("%d rows, then %d", closed, again)
	}
}

// TestOldCallOfLongFold: a call can be selected even if it is not among the newest of its fold.
func TestOldCallOfLongFold(t *testing.T) {
	defer func(n int) { maxMembers = n }(maxMembers)
	maxMembers = 3
	s := record(t).play(words.English)
	for pod := range s.h.Pods() {
		s.SelectPod(screen.PodKey(pod))
		for i := s.podAt(pod).Spans.First; i < s.podAt(pod).Spans.End(); i++ {
			sp := s.h.Span(*s.podAt(pod).Spans.At(i))
			if !s.SelectCall(sp.ID) {
				t.Fatalf("%s of pod %d cannot be selected", s.h.Step(sp.Step).Name, pod)
			}
		}
	}
}

// TestWorstOfAll: what an agent remembers comes in parts. When all parts have come, the worst pod of all is
// selected, not the worst of the first part, unless the person was faster.
func TestWorstOfAll(t *testing.T) {
	for _, byHand := range []bool{false, true} {
		r := record(t)
		s := New(r.info, probes.MustLoad(), words.English)
		s.SetLink(screen.LinkLive, "live")
		first := ""
		for _, b := range r.batches[:len(r.batches)/2] {
			s.Add(b)
			s.Screen(allRows)
			if _, pod, ok := s.Selected(); ok && first == "" {
				first = pod.Name
				if byHand {
					s.SelectPodNamed("default", first)
				}
			}
		}
		s.Loaded()
		worst := s.Screen(allRows).Pods.Rows[0].Name
		want := worst
		if byHand {
			want = first
		}
		if first == worst {
			t.Fatal("the first pod is the worst: nothing is tested")
		}
		if _, pod, _ := s.Selected(); pod.Name != want {
			t.Errorf("by hand: %t: %s is selected, not %s", byHand, pod.Name, want)
		}
		for _, b := range r.batches[len(r.batches)/2:] {
			s.Add(b)
		}
		s.Loaded() // another agent has come
		if _, pod, _ := s.Selected(); pod.Name != want {
			t.Errorf("by hand: %t: then %s is selected, not %s", byHand, pod.Name, want)
		}
	}
}
