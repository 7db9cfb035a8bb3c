package view

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/tui/screen"
)

// TestNamesDiffer: pods of one ReplicaSet have names that differ only in their ends. No two of them look alike in
// the list, in whatever state and in however small a terminal. A name that is cut has a mark.
func TestNamesDiffer(t *testing.T) {
	states := []screen.PodRow{
		{Mark: life.Idle, Word: "running"}, {Mark: life.Retrying, Word: "retry", For: 72 * time.Minute}, {Mark: life.Held, Word: "held", Left: 299 * time.Second},
	}
	for _, size := range [][2]int{{120, 36}, {80, 24}, {60, 16}, {40, 10}} {
		for _, state := range states {
			s := base()
			s.Focus, s.Pods.Rows, s.Pods.Cursor = screen.PanePods, nil, 0
			for i := range 3 {
				p := state
				p.Key, p.Namespace, p.Name = screen.PodKey(i+1), "shop", fmt.Sprintf("frontend-cart-7f9c5d6b8-x2x%dk", i)
				s.Pods.Rows = append(s.Pods.Rows, p)
			}
			o := Options{Width: size[0], Height: size[1], NoColour: true}
			seen := map[string]bool{}
			for line := range strings.Lines(ansi.Strip(checkSize(t, "names", s, o))) {
				for i := range 3 {
					end := fmt.Sprintf("x2x%dk", i)
					if !strings.Contains(line, end) {
						continue
					}
					seen[end] = true
					if !strings.Contains(line, "frontend-cart-7f9c5d6b8-"+end) && !strings.Contains(line, "…") {
						t.Errorf("%v, %s: a name is cut without a mark: %q", size, state.Word, line)
					}
				}
			}
			if len(seen) != 3 {
				t.Errorf("%v, %s: of three pods the ends of %d names are seen\n%s", size, state.Word, len(seen), ansi.Strip(Draw(s, NewStyles(o))))
			}
		}
	}
}

// TestLabelsUseTheirRoom: a label of the timeline is cut only where it meets something else.
func TestLabelsUseTheirRoom(t *testing.T) {
	s := timelineOf()
	const long = "MountVolume pvc-0a1b2c3d of container app"
	s.Timeline().Bars[6].Label = long
	for _, width := range []int{160, 200} {
		if text := ansi.Strip(checkSize(t, "labels", s, Options{Width: width, Height: 36, NoColour: true})); !strings.Contains(text, long) {
			t.Errorf("at %d columns a label of %d is cut:\n%s", width, len(long), text)
		}
	}
}
