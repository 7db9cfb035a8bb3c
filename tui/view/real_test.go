package view

import (
	"testing"
	"time"

	"github.com/podstep/podstep/agent/trace/tracetest"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/tui/state"
)

// session is three minutes of a real node, as package state has them for its own
// tests.
func session(t *testing.T, lang state.Lang) *state.State {
	t.Helper()
	info, batches, err := tracetest.Read("../state/testdata/lab.podstep")
	if err != nil {
		t.Fatal(err)
	}
	s := state.New(info, probes.MustLoad(), lang)
	for _, batch := range batches {
		s.Add(batch)
	}
	return s
}

// TestRealSession draws a real session in every view, at many sizes and moments.
func TestRealSession(t *testing.T) {
	for _, lang := range []state.Lang{state.English, state.Chinese} {
		s := session(t, lang)
		for at := time.Duration(0); at < 3*time.Minute; at += 20 * time.Second {
			s.SeekTime(at)
			for main := state.MainStory; main <= state.MainBreaks; main++ {
				s.SetMain(main)
				for i, w := range []int{36, 40, 52, 60, 79, 80, 100, 120, 159, 160, 200} {
					st := NewStyles(Options{Width: w, Height: 8 + (i*13+int(main))%43})
					screen := s.Screen(state.Sizes{})
					screen = s.Screen(Sizes(screen, st))
					checkSize(t, "real", screen, st.Options)
					s.Move(3)
				}
			}
		}
	}
}
