//go:build sim

package lab_test

import (
	"slices"
	"testing"

	"github.com/podstep/podstep/agent/lab/labtest"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/source"
)

// checkCallers holds the lines from which steps were called against the source: each is a
// line of the function of the call around it that leads to the step. pod is one of which the
// line is known that sent its update: from another one come those of mirror pods.
func checkCallers(t *testing.T, l *labtest.Lab, pod string) {
	t.Helper()
	steps := map[uint64]string{}
	seen := map[string][]uint32{}
	var added []uint32
	for _, e := range l.Recorded() {
		if e.Kind != probes.Enter {
			continue
		}
		steps[e.Span] = e.Step
		caller, ok := source.Of(steps[e.Parent])
		if e.Pod != nil && e.Pod.Name == pod && steps[e.Parent] == "loop.add" && e.Step == "worker.update" {
			added = append(added, e.CallerLine)
		}
		calls := caller.Calls(e.Step)
		if !ok || len(calls) == 0 || caller.Cut {
			continue
		}
		call := steps[e.Parent] + " " + e.Step
		if !slices.Contains(seen[call], e.CallerLine) {
			seen[call] = append(seen[call], e.CallerLine)
		}
		// A closure that is called where it is written has the line of its end, and
		// ComputePodActions comes to the resize by two functions, of which the source's
		// names lead to one.
		if e.Step == "worker.turn" || call == "rt.compute resize.allowed" {
			continue
		}
		if e.CallerLine != 0 && !slices.Contains(calls, int(e.CallerLine)) {
			t.Errorf("%s called %s from line %d; its source does so from %v", steps[e.Parent], e.Step, e.CallerLine, calls)
			t.Errorf("line %d: %q", e.CallerLine, caller.Lines[max(0, min(len(caller.Lines)-1, int(e.CallerLine)-caller.Line))])
		}
	}
	if !slices.Equal(added, []uint32{2892}) {
		t.Errorf("HandlePodAdditions called UpdatePod of %s from lines %v", pod, added)
	}
	known := 0
	for _, lines := range seen {
		if !slices.Contains(lines, 0) {
			known++
		}
	}
	t.Logf("of %d pairs of caller and step the line of every call is known of %d", len(seen), known)
	if known < len(seen)/2 {
		t.Errorf("most lines are not known: %v", seen)
	}
}
