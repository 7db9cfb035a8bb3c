package state

import (
	"slices"
	"testing"

	"github.com/podstep/podstep/probes/source"
	"github.com/podstep/podstep/tui/screen"
)

// TestCallerOf: HandlePodAdditions sends a pod's update from one line, and a mirror pod's from another. The line
// that a probe read is marked; if none was read, neither line is.
func TestCallerOf(t *testing.T) {
	add, ok := source.Of("loop.add")
	calls := add.Calls("worker.update")
	if !ok || len(calls) != 2 {
		t.Fatalf("loop.add leads to worker.update from lines %v", calls)
	}
	for name, c := range map[string]struct {
		line  int
		calls []int
		mark  int // a line; 0: none
	}{
		"read":               {calls[1], calls, calls[1]},
		"not read, one call": {0, calls[1:], calls[1]},
		"not read":           {0, calls, 0},
		"of another version": {add.Line + len(add.Lines), calls, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := &screen.Detail{Mark: none}
			callerOf(&add, c.line, c.calls, d)
			marked := 0
			if d.Mark != none {
				marked = d.First + d.Mark
			}
			if marked != c.mark {
				t.Errorf("line %d is marked, want %d", marked, c.mark)
			}
			if unsure := d.Mark == none; unsure != slices.Equal(d.Either, calls) {
				t.Errorf("the call is said to be at one of %v", d.Either)
			}
		})
	}
}
