//go:build linux

package uprobe

import (
	"go/parser"
	"testing"
	"time"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/memory"
)

// TestEvaluate: a condition is evaluated as Go would do it. Values that are not known decide nothing.
func TestEvaluate(t *testing.T) {
	values := map[string]any{
		"yes": true, "no": false, "one": int64(1), "two": int64(2), "web": "web", "unknown": nil, "second": time.Second,
	}
	for _, x := range []struct {
		text string
		want any
	}{
		{"yes", true},
		{"!no", true},
		{"(yes)", true},
		{"!unknown", nil},
		{"!one", nil},
		{"absent", nil},
		{"yes && yes", true},
		{"yes && no", false},
		{"unknown && no", false},
		{"no && unknown", false},
		{"yes && unknown", nil},
		{"no || no", false},
		{"no || yes", true},
		{"unknown || yes", true},
		{"yes || unknown", true},
		{"no || unknown", nil},
		{"one == 1", true},
		{"one != 0x1", false},
		{"one == two", false},
		{"one + two == 3", true},
		{"two - one == 1", true},
		{"one < two", true},
		{"two <= two", true},
		{"one > two", false},
		{"one >= two", false},
		{"web == `web`", true},
		{`web != "web"`, false},
		{`web == 1`, false},
		{"web < web", nil},
		{"unknown == 1", nil},
		{"unknown != unknown", nil},
		{"one * two", nil},
		{"len(web)", nil},
		{"1.5", nil},
		{"99999999999999999999", nil},
		{"-one", nil},
		{"second == one", false},
	} {
		e, err := parser.ParseExpr(x.text)
		if err != nil {
			t.Fatal(err)
		}
		if got := evaluate(e, values); got != x.want {
			t.Errorf("%s is %v, want %v", x.text, got, x.want)
		}
		if got := holds(e, values); got != (x.want == true) {
			t.Errorf("%s holds: %v", x.text, got)
		}
	}
}

// TestQuietOfTables: each condition of a table can be evaluated when its operands are known.
func TestQuietOfTables(t *testing.T) {
	c := probes.MustLoad()
	for _, version := range memory.Minors() {
		table, err := memory.For(version + ".0")
		if err != nil {
			t.Fatal(err)
		}
		for i := range c.Steps {
			r := reader{table: table, step: &step{Step: &c.Steps[i]}}
			s := r.exit()
			if r.step.quiet == nil {
				continue
			}
			values := map[string]any{}
			for _, x := range s.quiet {
				switch x.form.Kind {
				case memory.Bool, memory.IsNil, memory.NotNil:
					values[x.name] = false
				case memory.String, memory.Interface:
					values[x.name] = "x"
				default:
					values[x.name] = int64(1)
				}
			}
			if _, ok := evaluate(r.step.quiet, values).(bool); !ok {
				t.Errorf("%s: whether %s is quiet cannot be worked out of %v", version, r.step.Name, values)
			}
		}
	}
}
