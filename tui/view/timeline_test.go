package view

import (
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/tui/screen"
)

// TestFoldParts: a fold is drawn as its calls, with their sum, and not as one bar.
func TestFoldParts(t *testing.T) {
	s := &screen.Screen{Main: screen.MainTimeline, Zoom: true, Focus: screen.PaneMain, Body: &screen.Timeline{
		To: 100 * time.Second, Now: 100 * time.Second, Total: 1, Bars: []screen.Bar{{
			ID: "f1.0", Label: "folded", To: 90 * time.Second,
			Parts: []screen.Part{{From: 0, To: 5 * time.Second}, {From: 80 * time.Second, To: 90 * time.Second}},
		}}}}
	o := Options{Width: 120, Height: 20, Glyphs: ASCII, NoColour: true}
	for _, l := range strings.Split(Draw(s, NewStyles(o)), "\n") {
		if !strings.Contains(l, "folded") {
			continue
		}
		if !strings.Contains(l, "15.0 s") && !strings.Contains(l, "15 s") {
			t.Errorf("no sum in %q", l)
		}
		if n := strings.Count(l, NewStyles(o).m.barPlain); n == 0 || n > 40 {
			t.Errorf("%d cells of bar in %q", n, l)
		}
		return
	}
	t.Error("the fold is not drawn")
}
