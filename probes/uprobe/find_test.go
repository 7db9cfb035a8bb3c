//go:build linux

package uprobe

import (
	"strings"
	"testing"

	"github.com/podstep/podstep/probes"
)

// TestChosen: of a function's literals the one of the step is chosen by its line. Where none begins there, it is not
// guessed.
func TestChosen(t *testing.T) {
	literal := func(name string, line int) probes.Code { return probes.Code{Name: name, Line: line} }
	one, two, three := literal("f.func1", 110), literal("f.func2", 122), literal("f.func3", 140)
	for name, c := range map[string]struct {
		all  []probes.Code
		want string
	}{
		"by name and line":              {[]probes.Code{one, two, three}, "f.func2"},
		"another line for the name":     {[]probes.Code{one, literal("f.func2", 115), literal("f.func3", 122)}, "f.func3"},
		"all lines have moved a little": {[]probes.Code{literal("f.func1", 112), literal("f.func2", 124)}, ""},
		"it is gone":                    {[]probes.Code{one, literal("f.func2", 140)}, ""},
		"the only one has moved":        {[]probes.Code{literal("f.func2", 124)}, "f.func2"},
		"its name is gone":              {[]probes.Code{one, literal("f.func7", 122)}, "f.func7"},
		"two on one line":               {[]probes.Code{literal("g.f.func2", 122), two}, "f.func2"},
		"copies":                        {[]probes.Code{literal("g.f.func2", 122), literal("h.f.func2", 122)}, "g.f.func2 h.f.func2"},
		"copies that have moved":        {[]probes.Code{literal("g.f.func2", 9), literal("h.f.func2", 9)}, "g.f.func2 h.f.func2"},
		"none":                          {nil, ""},
	} {
		var got []string
		for _, f := range chosen(c.all, "f.func2", 122) {
			got = append(got, f.Name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: chosen are %v, want %s", name, got, c.want)
		}
	}
}
