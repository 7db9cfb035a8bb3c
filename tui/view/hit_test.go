package view

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/podstep/podstep/tui/screen"
)

// find returns the place of a text on the screen.
func find(t *testing.T, s *screen.Screen, st *Styles, text string) (int, int) {
	t.Helper()
	for y, line := range strings.Split(ansi.Strip(Draw(s, st)), "\n") {
		if before, _, ok := strings.Cut(line, text); ok {
			return width(before), y
		}
	}
	t.Fatalf("%q is not on the screen", text)
	return 0, 0
}

func TestHit(t *testing.T) {
	st := NewStyles(Options{Width: 120, Height: 36})
	cases := []struct {
		screen func() *screen.Screen
		text   string
		want   Target
	}{
		{held, "db-0", Target{Kind: OnPod, Pane: screen.PanePods, Pod: 2}},
		{held, "volume pvc-db", Target{Kind: OnPod, Pane: screen.PanePods, Pod: 2}},
		{held, "1 of 1 mounted", Target{Kind: OnRow, Pane: screen.PaneMain, ID: "k"}},
		{held, "▸ ✓ volumes", Target{Kind: OnFold, Pane: screen.PaneMain, ID: "k"}},
		{held, "Asks the runtime", Target{Kind: OnPane, Pane: screen.PaneDetail}},
		{held, "HELD", Target{Kind: OnHold}},
		{held, "Events", Target{Kind: OnMain, Main: screen.MainEvents}},
		{held, "sync 2 ›", Target{Kind: OnCrumb, Index: 2}},
		{held, "b break", Target{Kind: OnHint, ID: "b"}},
		{held, "? help", Target{Kind: OnHint, ID: "?"}},
		{timelineOf, "image busybox", Target{Kind: OnBar, Pane: screen.PaneMain, ID: "image busybox:1.35"}},
		{eventsOf, "mounted=1", Target{Kind: OnEvent, Pane: screen.PaneMain, Index: 1202}},
		{breaksOf, "fail: registry", Target{Kind: OnBreak, Pane: screen.PaneMain, Index: 3}},
		{durationsOf, "status.patch", Target{Kind: OnTop, Pane: screen.PaneMain, ID: "status.patch"}},
		{tourOf, "enter goes on", Target{Kind: OnTour}},
		{dialogOf, "Cancel", Target{Kind: OnButton, Index: 0}},
		{dialogOf, "Hold  ", Target{Kind: OnButton, Index: 1}},
		{dialogOf, "It goes on by itself", Target{Kind: OnOver}},
		{dialogOf, "podstep", Target{Kind: OnOutside}},
		{paletteOf, "Next stage", Target{Kind: OnItem, Index: 1}},
		{helpOf, "Let all go", Target{Kind: OnItem, Index: 16}},
	}
	for _, c := range cases {
		s := c.screen()
		x, y := find(t, s, st, c.text)
		if got, ok := Hit(s, st, x, y); !ok || got != c.want {
			t.Errorf("%q at %d,%d: %+v, want %+v", c.text, x, y, got, c.want)
		}
	}
	d := Arrange(120, 36, ArrangementOf(held())).Divider
	if got, _ := Hit(held(), st, d.X, d.Y+3); got.Kind != OnDivider {
		t.Errorf("divider: %+v", got)
	}
	if _, ok := Hit(held(), st, 500, 3); ok {
		t.Error("there is something outside the screen")
	}
}

func TestCursor(t *testing.T) {
	st := NewStyles(Options{Width: 80, Height: 24})
	s := typingOf()
	s.Input.Text, s.Input.Cursor = "名=停", 2
	x, y, ok := Cursor(s, st)
	if !ok || x != 1+2+3 || y != 23 {
		t.Errorf("%d,%d %v", x, y, ok)
	}
	if _, _, ok := Cursor(held(), st); ok {
		t.Error("a cursor without an input")
	}
}
