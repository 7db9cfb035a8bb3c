package compare

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/podstep/podstep/probes/words"
)

// with makes a story in which each container has one step.
func with(containers ...string) *Story {
	s := &Story{Done: true, Begun: true, Turns: []Turn{{Kind: "create", N: 1}}}
	for i, c := range containers {
		s.Turns[0].Steps = append(s.Turns[0].Steps, i)
		s.Steps = append(s.Steps, Step{Key: Key{"cri.StartContainer", containerMark + c}, Took: time.Second, Notable: true})
		s.Took += time.Second
	}
	return s
}

// TestPairedContainers: containers of other names that do the same work are compared with each other, and what was given
// is not changed.
func TestPairedContainers(t *testing.T) {
	for _, c := range []struct{ a, b, wantA, wantB string }{
		{"init app", "web2", "init app/web2", "app/web2"},
		{"app side", "app other", "app side/other", "app side/other"},
		{"app", "app", "app", "app"},
		{"a b", "b a", "a b", "b a"},
		{"", "web", "", "web"},
		{"x y", "v w", "x/v y/w", "x/v y/w"},
	} {
		a, b := with(strings.Fields(c.a)...), with(strings.Fields(c.b)...)
		x, y := paired(a, b)
		if got := strings.Join(containers(x), " "); got != c.wantA {
			t.Errorf("%q and %q: the first has %q", c.a, c.b, got)
		}
		if got := strings.Join(containers(y), " "); got != c.wantB {
			t.Errorf("%q and %q: the second has %q", c.a, c.b, got)
		}
		if !slices.Equal(containers(a), strings.Fields(c.a)) || !slices.Equal(containers(b), strings.Fields(c.b)) {
			t.Errorf("%q and %q are changed", c.a, c.b)
		}
	}
}

// TestTable: no row is wider than the table, at any width, and the longer time has the longer bar, in the sign of the
// slower pod.
func TestTable(t *testing.T) {
	a, b := with("app"), with("app")
	a.Steps[0].Took, a.Took = 40*time.Second, 40*time.Second
	a.Pod.Name, b.Pod.Name = "slow", "fast"
	r := Compare(a, b)
	for width := 30; width < 200; width++ {
		for _, l := range []words.Lang{words.English, words.Chinese} {
			for _, row := range r.Table(l, Look{Width: width, Most: 9, Slow: "█", Fast: "░", Axis: "│"}) {
				if n := ansi.StringWidth(row.Text); n > width && width >= 40 {
					t.Fatalf("%d columns: a row of %d: %q", width, n, row.Text)
				}
				if slow, fast := strings.Count(row.Text, "█"), strings.Count(row.Text, "░"); slow+fast > 0 && (fast != 1 || slow < barLeast) {
					t.Fatalf("%d columns: bars of %d and %d: %q", width, slow, fast, row.Text)
				}
			}
		}
	}
}

// TestRestIsBounded: the line for what is not listed names the largest difference among it, also where only the number of
// lines leaves something out.
func TestRestIsBounded(t *testing.T) {
	a, b := made("create:x=10s y=5s z=3s"), made("create:x=1ms y=1ms z=1ms")
	var rest []string
	for _, line := range Compare(a, b).Lines(words.English, 1) {
		if strings.Contains(line.What, "more") {
			rest = append(rest, line.What)
		}
	}
	if want := "2 more, by up to 5.0 s"; !slices.Equal(rest, []string{want}) {
		t.Errorf("the rest is %q, not %q", rest, want)
	}
}
