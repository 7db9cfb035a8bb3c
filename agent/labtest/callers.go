package labtest

import (
	"slices"
	"testing"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/source"
)

// CallerLines has the lines from which steps were called, each once, by the calling step and the step; a line that is
// not known is zero.
type CallerLines map[[2]string][]uint32

// CallerLinesIn returns the lines in events.
func CallerLinesIn(events []probes.Event) CallerLines {
	steps, out := map[uint64]string{}, CallerLines{}
	for _, e := range events {
		if e.Kind != probes.Enter {
			continue
		}
		steps[e.Span] = e.Step
		around, ok := steps[e.Parent]
		call := [2]string{around, e.Step}
		if ok && !slices.Contains(out[call], e.CallerLine) {
			out[call] = append(out[call], e.CallerLine)
		}
	}
	return out
}

// Known returns the known lines of a calling step and a step.
func (c CallerLines) Known(call [2]string) []uint32 {
	return slices.DeleteFunc(slices.Clone(c[call]), func(line uint32) bool { return line == 0 })
}

// Check compares the lines with the source of the catalogue's version of the kubelet: each must be a line of the
// calling step's function that leads to the step. version is the kubelet's, or its minor version. If the catalogue
// has another minor version, Check checks nothing: the lines differ.
func (c CallerLines) Check(t testing.TB, version string) {
	t.Helper()
	if !probes.SameMinor(version) {
		return
	}
	pairs, known := 0, 0
	for call, lines := range c {
		caller, ok := source.Of(call[0])
		calls := caller.Calls(call[1])
		if !ok || len(calls) == 0 || caller.Cut {
			continue
		}
		pairs++
		if !slices.Contains(lines, 0) {
			known++
		}
		// A closure that is called where it is written has the line of its end. And ComputePodActions reaches the
		// resize through two functions, only one of which is found by name.
		if call[1] == "worker.turn" || call == [2]string{"rt.compute", "resize.allowed"} {
			continue
		}
		for _, line := range c.Known(call) {
			if !slices.Contains(calls, int(line)) {
				t.Errorf("%s called %s from line %d; its source does so from %v", call[0], call[1], line, calls)
				t.Errorf("line %d: %q", line, caller.Lines[max(0, min(len(caller.Lines)-1, int(line)-caller.Line))])
			}
		}
	}
	t.Logf("of %d pairs of caller and step the line of every call is known of %d", pairs, known)
	if known == 0 || known < pairs/2 {
		t.Errorf("most lines are not known: %v", c)
	}
}
