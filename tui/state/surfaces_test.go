package state

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/explain"
	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// places is how many positions of a recording TestSurfacesAgree looks at.
const places = 120

// TestSurfacesAgree: at any position of a recording, the list, the header and the causes have the same verdict on every
// pod, with the same clock.
func TestSurfacesAgree(t *testing.T) {
	for name, r := range map[string]*recording{"woven": record(t), "attached": attached(t)} {
		t.Run(name, func(t *testing.T) {
			s := r.play(words.English)
			random := rand.New(rand.NewPCG(1, 2))
			seen := map[life.State]int{}
			for range places {
				s.SeekEvent(random.IntN(s.h.End()))
				s.agree(t, seen)
				if t.Failed() {
					return
				}
			}
			if len(seen) < 5 {
				t.Errorf("only %d states were met: %v", len(seen), seen)
			}
		})
	}
}

// agree compares what the surfaces say of every pod at the position that is shown, and counts the states.
func (s *State) agree(t *testing.T, seen map[life.State]int) {
	t.Helper()
	v := s.view()
	sc := s.Screen(allRows)
	counts := map[life.State]int{}
	for _, row := range sc.Pods.Rows {
		if row.Key == 0 || row.Line == asideWords[notYet].En {
			continue
		}
		counts[row.Mark]++
		seen[row.Mark]++
		s.SelectPod(row.Key)
		why := s.report(v)
		if why.State != row.Mark {
			t.Errorf("event %d: %s is %v in the list, and %v by its causes", v.at, row.Name, row.Mark, why.State)
		}
		if got := time.Unix(0, s.h.Origin()+v.now).Sub(why.Since); got != row.For {
			t.Errorf("event %d: %s is %v for %v in the list, and for %v by its causes", v.at, row.Name, row.Mark, row.For, got)
		}
		if story := explain.Seen(s.explained(), int(row.Key), v.position()); v.pod(int(row.Key)).Known() && story.State != row.Mark.String() {
			t.Errorf("event %d: %s is %v in the list, and %s in the story that a trace has", v.at, row.Name, row.Mark, story.State)
		}
		one := s.Screen(allRows).Why
		if one.Mark != row.Mark {
			t.Errorf("event %d: %s is %v in the list, and %v in the line at the bottom", v.at, row.Name, row.Mark, one.Mark)
		}
		if plain, ok := s.Sentence(s.podAt(s.pod).Entity.UID); one.Text != why.Summary(words.English) || ok && !strings.HasSuffix(plain, one.Text) {
			t.Errorf("event %d: of %s the line at the bottom says %q, its causes %q, and a screen reader gets %q", v.at, row.Name, one.Text, why.Summary(words.English), plain)
		}
	}
	if h := sc.Header; h.Stuck != counts[life.Stuck] || h.Retrying != counts[life.Retrying] || h.Held != counts[life.Held] {
		t.Errorf("event %d: the header counts %d stuck, %d retrying, %d held, and the list has %v", v.at, h.Stuck, h.Retrying, h.Held, counts)
	}
}

// TestWithoutNodeAgrees: of a pod without a node, too.
func TestWithoutNodeAgrees(t *testing.T) {
	s := attached(t).play(words.English)
	now := time.Unix(0, s.h.Origin()+s.view().now)
	s.SetUnscheduled([]*causes.Report{causes.Explain(gatedPod(now))})
	s.SetSnapshot("q-1", gatedPod(now))
	if !s.SelectPodNamed("shop", "queued") {
		t.Fatal("it is not in the list")
	}
	s.agree(t, map[life.State]int{})
	if p := screen.PodKey(s.pod); p == 0 {
		t.Error("the node is selected")
	}
}
