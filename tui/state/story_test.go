package state

import (
	"strings"
	"testing"

	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

func TestStories(t *testing.T) {
	r := record(t)
	for _, pod := range []string{"web", "held", "no-image", "crashloop", "missing"} {
		t.Run(pod, func(t *testing.T) {
			s := r.play(words.English)
			if !s.SelectPodNamed("default", pod) {
				t.Fatal("no such pod")
			}
			golden(t, "story-"+pod, dump(s.Screen(allRows)))
		})
	}
}

// TestPlaces shows stories as they were at a place in the events.
func TestPlaces(t *testing.T) {
	for name, at := range map[string]int{"web-volumes": 175, "web-sandbox": 193, "web-start": 242, "held-held": 1766, "held-step": 2522, "web-terminating": 4250} {
		t.Run(name, func(t *testing.T) {
			s := record(t).play(words.English)
			s.SelectPodNamed("default", name[:strings.IndexByte(name, '-')])
			s.SeekEvent(at - 1)
			golden(t, "place-"+name, dump(s.Screen(allRows)))
		})
	}
}

// TestDetails shows steps in full.
func TestDetails(t *testing.T) {
	for _, c := range []struct {
		name, pod, step string
		lang            words.Lang
	}{
		{"request", "web", "cri.RunPodSandbox", words.English},
		{"create", "web", "cri.CreateContainer", words.Chinese},
		{"failed", "no-image", "image.pull", words.English},
		{"conditions", "web", "sync.genstatus", words.English},
		{"turn", "web", "worker.turn", words.English},
		{"shared", "web", "merge.firstseen", words.Chinese},
		{"volumes", "missing", "sync.volumes", words.English},
		{"prestop", "web", "rt.prestop", words.English},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := record(t).play(c.lang)
			s.SelectPodNamed("default", c.pod)
			if !s.SelectStep(c.step) {
				t.Fatalf("%s is not in the story of %s", c.step, c.pod)
			}
			if got := s.SelectedStep(); got != c.step && c.step != "worker.turn" {
				t.Errorf("%s is selected", got)
			}
			golden(t, "detail-"+c.name, dumpDetail(s.Screen(allRows)))
		})
	}
}

// TestSelectSteps: every step that was seen can be selected, and no other.
func TestSelectSteps(t *testing.T) {
	s := record(t).play(words.English)
	for _, pod := range []string{"web", "held", "crashloop"} {
		selectsSeen(t, s, pod)
		if s.SelectStep("no.such") || s.SelectStep("evict.pod") {
			t.Error("a step that was not seen is selected")
		}
	}
}

// selectsSeen selects each step that was seen of the pods, and checks the screen.
func selectsSeen(t *testing.T, s *State, pods ...string) {
	t.Helper()
	z := screen.Sizes{Pods: 5, Main: 10, Detail: 5, Width: 80}
	for _, pod := range pods {
		s.SelectPodNamed("default", pod)
		seen := map[string]bool{}
		for _, ref := range s.podAt(s.pod).Spans.All {
			seen[s.h.Step(s.h.Span(ref).Step).Name] = true
		}
		for step := range seen {
			if !s.SelectStep(step) {
				t.Errorf("%s: %s cannot be selected", pod, step)
			}
			sc := s.Screen(z)
			check(t, sc, z)
			if sc.Story().Cursor < 0 {
				t.Errorf("%s: %s is selected and not on the screen", pod, step)
			}
		}
	}
}

// TestSelectCall: a call is selected by the agent's number of it, even if a later call of the same step was seen. It
// is selected only in the story of the selected pod.
func TestSelectCall(t *testing.T) {
	s := record(t).play(words.English)
	s.SelectPodNamed("default", "crashloop")
	pod := s.pod
	for i := s.podAt(pod).Spans.First; i < s.podAt(pod).Spans.End(); i++ {
		sp := s.h.Span(*s.podAt(pod).Spans.At(i))
		step := s.h.Step(sp.Step).Name
		if step != "rt.backoff" {
			continue
		}
		s.SelectPod(0)
		if s.SelectCall(sp.ID) || s.pod != 0 {
			t.Fatalf("span %d was selected in the story of another pod", sp.ID)
		}
		s.SelectPod(screen.PodKey(pod))
		if !s.SelectCall(sp.ID) {
			t.Fatalf("span %d of %s cannot be selected", sp.ID, step)
		}
		if n := s.selectedLine(s.view()); s.pod != pod || n == nil || s.h.Span(n.span) != sp {
			t.Errorf("span %d of %s: another row is selected", sp.ID, step)
		}
	}
	if s.SelectCall(0) || s.SelectCall(1<<60) {
		t.Error("a call that was not seen is selected")
	}
}

func TestTimelines(t *testing.T) {
	s := record(t).play(words.English)
	s.SelectPodNamed("default", "web")
	s.SelectStep("cri.RunPodSandbox")
	s.SetMain(screen.MainTimeline)
	golden(t, "timeline-web", dumpTimeline(s.Screen(allRows)))
	s.ZoomTime(0.1)
	s.Sideways(1)
	golden(t, "timeline-zoomed", dumpTimeline(s.Screen(screen.Sizes{Pods: 10, Main: 12, Detail: 5})))
	s.ToggleMany()
	golden(t, "timeline-many", dumpTimeline(s.Screen(allRows)))
}

func TestEventLists(t *testing.T) {
	s := record(t).play(words.English)
	s.SetMain(screen.MainEvents)
	golden(t, "events-pod", dumpEvents(s.Screen(screen.Sizes{Pods: 5, Main: 12})))
	s.ToggleManyEvents()
	golden(t, "events-last", dumpEvents(s.Screen(screen.Sizes{Pods: 5, Main: 12})))
	if err := s.SetFilter("pod=held (kind=hold or kind=release)"); err != nil {
		t.Fatal(err)
	}
	golden(t, "events-holds", dumpEvents(s.Screen(screen.Sizes{Pods: 5, Main: 12})))
	if err := s.SetFilter("pod=no-image err"); err != nil {
		t.Fatal(err)
	}
	s.Home()
	golden(t, "events-errors", dumpEvents(s.Screen(screen.Sizes{Pods: 5, Main: 8})))
	if err := s.SetFilter("pod~("); err == nil {
		t.Error("a filter that cannot be read is taken")
	}
}

func TestChinese(t *testing.T) {
	s := record(t).play(words.Chinese)
	for _, pod := range []string{"web", "crashloop"} {
		s.SelectPodNamed("default", pod)
		golden(t, "zh-"+pod, dump(s.Screen(allRows)))
	}
	s.SelectPod(0)
	s.SetLang(words.English)
	golden(t, "node", dump(s.Screen(allRows)))
}
