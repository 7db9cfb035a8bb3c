package causes

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// momentary reports whether evidence only says what was so at a time: an event, or a line of a log. All else is so now.
func momentary(e *Evidence) bool {
	return e.Source == evidence.Log || e.Source == evidence.API && strings.HasPrefix(e.Where, "event ")
}

// TestCertain: whoever calls a cause certain shows something that is so now, and not only what was said once.
func TestCertain(t *testing.T) {
	found := map[string]string{}
	for file, s := range recorded(t) {
		r := Explain(s)
		for i := range r.Findings {
			f := &r.Findings[i]
			if f.Confidence == Certain && !slices.ContainsFunc(f.Evidence, func(e Evidence) bool { return !momentary(&e) }) {
				found[f.Cause.ID] = file
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(found)) {
		t.Errorf("%s is certain by events and lines of logs alone: %s", id, found[id])
	}
}

// TestSureMatch: the table cannot make a cause certain by what may be over.
func TestSureMatch(t *testing.T) {
	for name, m := range map[string]*Match{
		"event": {Event: &EventMatch{}, Sure: Certain}, "log": {Log: &LogLine{Message: expr("x")}, Sure: Certain},
	} {
		if err := m.compile(); err == nil {
			t.Errorf("a match of an %s makes a cause certain", name)
		}
		if m.Sure = Likely; m.compile() != nil {
			t.Errorf("%s: %v", name, m.compile())
		}
	}
}
