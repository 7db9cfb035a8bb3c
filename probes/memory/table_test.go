package memory

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/podstep/podstep/probes"
)

// TestFor: a table is found by the minor version, whatever comes behind that.
func TestFor(t *testing.T) {
	for _, version := range []string{probes.KubernetesVersion, "v1.36.0-alpha.1", "v1.36.99+k3s1"} {
		table, err := For(version)
		if err != nil {
			t.Fatal(err)
		}
		v, ok := table.Value("sync.pod", Pod, UID)
		if !ok || v.Form == nil || v.Form.Kind != String || len(v.Form.Hops) != 1 {
			t.Errorf("%s: the pod of sync.pod is %+v, %v", version, v, ok)
		}
		if _, ok := table.Value("sync.pod", Exit, "weather"); ok {
			t.Error("a field that nobody has is in the table")
		}
	}
	for _, version := range []string{"", "1.36", "v0.1.2", "v1.3", "v1.24.17"} {
		if _, err := For(version); !errors.Is(err, ErrNoTable) {
			t.Errorf("%q: %v, want %v", version, err, ErrNoTable)
		}
	}
}

// TestNearest: a kubelet of another minor version gets the nearest table, and of that only what shows itself to be right
// or wrong.
func TestNearest(t *testing.T) {
	all := minorNumbers()
	oldest, newest := all[0], all[len(all)-1]
	for version, want := range map[string]int{
		"v1.1.0": oldest, "v1.24.17-eks-1": oldest, fmt.Sprintf("v1.%d.0-alpha.3", newest+1): newest, "v1.999.0": newest,
		"v0.0.0-master+$Format:%H$": newest, "": newest, "v1.99999": newest,
	} {
		table, err := Nearest(version)
		if err != nil {
			t.Errorf("%q: %v", version, err)
			continue
		}
		if m := fmt.Sprintf("v1.%d.", want); !table.Near || !strings.HasPrefix(table.Version, m) {
			t.Errorf("%q gets the table of %s, near: %v; want that of %s", version, table.Version, table.Near, m)
		}
		pods := 0
		table.All(func(step string, side Side, name string, v Value) {
			switch {
			case side == Pod && v.Form != nil:
				pods++
			case side != Pod && side != Symbol && (v.Form != nil || v.Words != "" || Reasons[v.None].En == ""):
				t.Errorf("%q: %s %s of %s is read, or has no reason: %+v", version, side, name, step, v)
			}
		})
		if pods < 100 {
			t.Errorf("%q: only %d values of pods are left", version, pods)
		}
	}
	exact, err := Nearest(probes.KubernetesVersion)
	if err != nil || exact.Near {
		t.Errorf("the catalogue's own version: near %v, %v", exact.Near, err)
	}
	if v, ok := exact.Value("sync.pod", Exit, "isTerminal"); !ok || v.Form == nil {
		t.Errorf("the table of the catalogue's own version has changed: %+v", v)
	}
}

// TestLines: a value is read as it was written.
func TestLines(t *testing.T) {
	for _, v := range []Value{
		{None: Captured},
		{Form: &Form{Kind: Bool, From: "x", AMD64: Place{Register, 3}, ARM64: Place{Register, 3}}},
		{Form: &Form{Kind: Int64, Names: map[int64]string{-1: "no", 2: "yes"}, Zero: true, From: "a.b", AMD64: Place{Stack, 16}, ARM64: Place{Register, 9},
			Hops: []Hop{{"v1.Pod", "ObjectMeta.UID", 96}, {"string", "", 0}}}},
		{Form: &Form{Kind: String, From: "element", AMD64: Place{Element, 8}, ARM64: Place{Element, 8}}},
	} {
		table, err := Parse(Format("v1.2.3", "abc", []string{Line("a.b", Enter, "c", v), Line("a.b", Exit, "c", v)}))
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := table.Value("a.b", Exit, "c"); !ok || !reflect.DeepEqual(got, v) || table.Version != "v1.2.3" || table.Catalogue != "abc" {
			t.Errorf("%+v was read as %+v", v, got)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for line, want := range map[string]string{
		"":                                                   "too short",
		"a\tenter\tb\tnone":                                  "too short",
		"a\tenter\tb\tnone\tlazy":                            `no reason "lazy"`,
		"a\tenter\tb\tnone\tcalls\tmore":                     "no reason",
		"a\tenter\tb\tbool\tx":                               "too short for a form",
		"a\tenter\tb\tbool odd\tx\tr1":                       `kind "bool odd"`,
		"a\tenter\tb\tbool x=y\tx\tr1":                       `kind "bool x=y"`,
		"a\tenter\tb\tbool\tx\tq1":                           `place "q1"`,
		"a\tenter\tb\tbool\tx\tr":                            `place "r"`,
		"a\tenter\tb\tbool\tx\tr1 sx":                        `place "r1 sx"`,
		"a\tenter\tb\tbool\tx\tr1\tT:m":                      `hop "T:m"`,
		"a\tenter\tb\tbool\tx\tr1\tT+8":                      `hop "T+8"`,
		"a\tenter\tb\tbool\tx\tr1\tT:m+q":                    `hop "T:m+q"`,
		"a\tenter\tb\tnone\tcalls\na\tenter\tb\tnone\tcalls": "twice",
	} {
		if _, err := Parse(Format("v1.2.3", "abc", []string{line})); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", line, err, want)
		}
	}
	for _, text := range []string{"", "a\tb\n", strings.TrimSuffix(Format("v1.2.3", "abc", nil), "\n")} {
		if _, err := Parse(text); err == nil {
			t.Errorf("%q is no table", text)
		}
	}
}

// TestTables: each table can be read, and each reason has its words.
func TestTables(t *testing.T) {
	for _, m := range Minors() {
		table, err := For(m)
		if err != nil {
			t.Fatal(err)
		}
		table.All(func(step string, side Side, name string, v Value) {
			if f := v.Form; f != nil && (f.From == "" || f.Kind.Size() <= 0 || f.AMD64.In == Register && f.AMD64.At >= len(Registers["amd64"]) || f.ARM64.In == Register && f.ARM64.At >= len(Registers["arm64"])) {
				t.Errorf("%s: %s %s %s: %+v", m, step, side, name, f)
			}
		})
	}
	for r, text := range Reasons {
		if text.En == "" || text.Zh == "" {
			t.Errorf("the reason %q is not said in both languages", r)
		}
	}
}

// TestShapes: each table has the shapes of its steps' functions, so that a kubelet of other source shows itself.
func TestShapes(t *testing.T) {
	for _, m := range Minors() {
		table, err := For(m + ".0")
		if err != nil {
			t.Fatal(err)
		}
		pods := map[string]bool{}
		table.All(func(step string, side Side, _ string, v Value) {
			if side == Pod && v.Form != nil {
				pods[step] = true
			}
		})
		for step := range pods {
			if s, ok := table.Shape(step); !ok || s.Line < 1 || min(s.AMD64, s.ARM64) < 0 || (s.AMD64|s.ARM64)%8 != 0 {
				t.Errorf("%s: the function of %s has the shape %v, %v", m, step, s, ok)
			}
		}
	}
}
