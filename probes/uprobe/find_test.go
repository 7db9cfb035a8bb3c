//go:build linux

package uprobe

import (
	"strings"
	"testing"

	"github.com/podstep/podstep/probes"
)

// TestChosen: of a function's literals the one of the step is chosen by its line, and by its name only if the line
// does not speak against it.
func TestChosen(t *testing.T) {
	literal := func(name string, line int) probes.Code { return probes.Code{Name: name, Line: line} }
	one, two, three := literal("f.func1", 110), literal("f.func2", 122), literal("f.func3", 140)
	for name, c := range map[string]struct {
		all   []probes.Code
		named int
		known bool
		want  string
	}{
		"by name and line":                   {[]probes.Code{one, two, three}, 1, true, "f.func2"},
		"another line for the name":          {[]probes.Code{one, literal("f.func2", 115), literal("f.func3", 122)}, 1, true, "f.func3"},
		"all lines have moved a little":      {[]probes.Code{literal("f.func1", 112), literal("f.func2", 124)}, 1, true, "f.func2"},
		"its name is gone":                   {[]probes.Code{one, two}, -1, true, "f.func2"},
		"two on one line":                    {[]probes.Code{literal("g.f.func2", 122), two}, 1, true, "f.func2"},
		"copies":                             {[]probes.Code{literal("g.f.func2", 122), literal("h.f.func2", 122)}, -1, true, "g.f.func2 h.f.func2"},
		"no line is known":                   {[]probes.Code{one, two}, 1, false, "f.func2"},
		"neither line nor name is known":     {[]probes.Code{one, two}, -1, false, ""},
		"no line is known of several copies": {[]probes.Code{literal("g.f.func2", 9), literal("h.f.func2", 9)}, -1, false, "g.f.func2 h.f.func2"},
	} {
		var got []string
		for _, f := range chosen(c.all, c.named, 100, c.known, 22) {
			got = append(got, f.Name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: chosen are %v, want %s", name, got, c.want)
		}
	}
}
