package tui

import (
	"fmt"
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"
)

// TestLayoutStays: the panes stay where they are while the cursor goes down a pod's story, over steps, groups,
// reports and steps to come.
func TestLayoutStays(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 36}, {200, 50}} {
		for _, folded := range []bool{false, true} {
			t.Run(fmt.Sprintf("%dx%d folded=%v", size[0], size[1], folded), func(t *testing.T) {
				d := opened(t, "state/testdata/lab.podstep", t.TempDir())
				d.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
				d.m.state.SelectPodNamed("default", "web")
				d.press("p", "g")
				if folded {
					d.press("-")
				}
				at := func() string { s := d.m.screen().Story(); return s.Rows[s.Cursor].ID }
				want, rows := lines(d.look()), 0
				for before := ""; at() != before; rows++ {
					before = at()
					d.press("j")
					if got := lines(d.look()); got != want {
						t.Fatalf("at row %d the panes are divided at\n%s\nat the first at\n%s\n%s", rows, got, want, d.look())
					}
				}
				t.Logf("%d rows", rows)
			})
		}
	}
}

// lines returns the lines that divide the panes of a screen, with their places.
func lines(screen string) string {
	var out []string
	for y, line := range strings.Split(screen, "\n") {
		if strings.ContainsAny(line, "├┴┬") {
			out = append(out, fmt.Sprintf("%d: %s", y, line))
		}
	}
	return strings.Join(out, "\n")
}
