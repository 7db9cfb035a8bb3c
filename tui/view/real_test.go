package view

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/podstep/podstep/agent/trace/tracetest"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/state"
)

// The recordings of package state's tests: some minutes of a real node, seen from inside its kubelet and from
// outside.
const woven, attached = "lab", "attached"

func session(t *testing.T, name string, lang words.Lang) *state.State {
	t.Helper()
	info, batches, err := tracetest.Read("../state/testdata/" + name + ".podstep")
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
	for name, length := range map[string]time.Duration{woven: 3 * time.Minute, attached: time.Minute} {
		for _, lang := range []words.Lang{words.English, words.Chinese} {
			s := session(t, name, lang)
			for at := time.Duration(0); at < length; at += 20 * time.Second {
				s.SeekTime(at)
				drawAll(t, s)
			}
		}
	}
}

// badChinese matches, in Chinese text, the signs and blanks that English puts between sentences and parts of them.
var badChinese = regexp.MustCompile(`.{0,8}([，。；：] [^\s│┃]|\p{Han}[,;:] ).{0,8}`)

// drawAll draws each view at many sizes.
func drawAll(t *testing.T, s *state.State) {
	t.Helper()
	for k, main := range Mains() {
		s.SetMain(main)
		for i, w := range []int{36, 40, 52, 60, 79, 80, 100, 120, 159, 160, 200} {
			st := NewStyles(Options{Width: w, Height: 8 + (i*13+k)%43})
			screen := s.Screen(screen.Sizes{})
			screen = s.Screen(Sizes(screen, st))
			text := checkSize(t, "real", screen, st.Options)
			if bad := badChinese.FindString(ansi.Strip(text)); bad != "" {
				t.Errorf("%dx%d, view %s: %q", st.Width, st.Height, main, bad)
			}
			s.Move(3)
		}
	}
}

// TestAttachedGolden draws, at every size, a pod that is held at an unmodified kubelet. Its story has calls, reports
// and unseen steps.
func TestAttachedGolden(t *testing.T) {
	for _, look := range []struct {
		name string
		lang words.Lang
		Options
	}{
		{"dark", words.English, Options{Theme: Dark}},
		{"ascii", words.English, Options{Glyphs: ASCII, NoColour: true}},
		{"zh", words.Chinese, Options{Theme: Dark}},
	} {
		t.Run(look.name, func(t *testing.T) {
			s := session(t, attached, look.lang)
			s.SetLink(screen.LinkReplay, "replay")
			s.SelectPodNamed("default", "held")
			key, _, _ := s.Selected()
			pos, ok := s.Seen(key, "cri.CreateContainer", probes.Held, 0)
			if !ok {
				t.Fatal("the pod is not held in the recording")
			}
			s.SeekEvent(pos)
			var b strings.Builder
			for _, size := range goldenSizes {
				look.Width, look.Height = size[0], size[1]
				st := NewStyles(look.Options)
				screen := s.Screen(Sizes(s.Screen(screen.Sizes{}), st))
				fmt.Fprintf(&b, "== %dx%d\n%s\n", size[0], size[1], ansi.Strip(Draw(screen, st)))
			}
			golden(t, filepath.Join("attached", look.name+".txt"), b.String())
		})
	}
}
