package tui

import (
	"testing"

	"github.com/podstep/podstep/tui/tours"
)

// TestLookTop: what a stop speaks of is scrolled into sight, and nothing is scrolled if it is in sight.
func TestLookTop(t *testing.T) {
	lines := []string{"Decides.", "", "a.go:1", "  1 x", "", "arguments", "  container  app", "  attempt  1", "", "→ request", "  linux:", "    cpuQuota: 1", "    memory: 2"}
	for _, c := range []struct {
		look  []string
		shown int
		want  int
	}{
		{[]string{"container"}, 13, 0},
		{[]string{"container"}, 6, 5},
		{[]string{"container", "attempt"}, 7, 5},
		{[]string{"attempt", "container"}, 8, 0},
		{[]string{"request"}, 12, 9},
		{[]string{"request"}, 13, 0},
		{[]string{"memory"}, 5, 11},
		{[]string{"contain"}, 3, 0},
		{[]string{"@source"}, 3, 0},
		{nil, 3, 0},
	} {
		if got := lookTop(lines, &tours.Stop{Look: c.look}, c.shown); got != c.want {
			t.Errorf("%v in %d lines: line %d, not %d", c.look, c.shown, got, c.want)
		}
	}
}
