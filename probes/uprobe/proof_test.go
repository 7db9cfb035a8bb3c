//go:build linux

package uprobe

import (
	"fmt"
	"strings"
	"testing"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/memory"
)

// trueTable is the toy's table with the toy's types by their names, and the shapes of its functions.
func trueTable(t *testing.T, p *program) string {
	t.Helper()
	text := strings.NewReplacer("\tPod:", "\tkubelet.Pod:", "\tNode:", "\tkubelet.Node:").Replace(toyTable)
	for _, s := range toyCatalogue().Steps {
		if f, ok := p.Code(s.Symbol); ok && s.Closure == "" {
			fn, err := p.function(f)
			if err != nil {
				t.Fatal(err)
			}
			text += shapeLine(s.Name, shapeOf(f.Line, fn.Arguments()))
		}
	}
	return text
}

// shapeOf is a shape that is the same on all architectures.
func shapeOf(line, arguments int) memory.Shape {
	return memory.Shape{Line: line, AMD64: arguments, ARM64: arguments}
}

func shapeLine(step string, s memory.Shape) string {
	return memory.Line(step, memory.Symbol, memory.Function, memory.Value{Words: s.String()}) + "\n"
}

func parsed(t *testing.T, text string) *memory.Table {
	t.Helper()
	table, err := memory.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestLies: a table that has any one member elsewhere than the program loses each value that is read through it, and no
// other; where that is a pod's, the step is not seen. The true table loses nothing.
func TestLies(t *testing.T) {
	for name, p := range map[string]*program{"exe": toy(t), "pie": toyOf(t, buildPIE)} {
		c, text := toyCatalogue(), trueTable(t, p)
		if _, b := p.proven(c, parsed(t, text), ""); b.values != 0 || b.other != 0 {
			t.Fatalf("%s: of the true table %d values are left out, and %d functions differ", name, b.values, b.other)
		}
		lies := 0
		for _, line := range strings.Split(text, "\n") {
			cols := strings.Split(line, "\t")
			for i, hop := range cols {
				at := strings.LastIndexByte(hop, '+')
				if i < 6 || at < 0 || !strings.HasPrefix(hop, "kubelet.") {
					continue
				}
				for _, offset := range []int{-8, 8, 16, 1 << 12} {
					var was int
					if _, err := fmt.Sscan(hop[at+1:], &was); err != nil || was+offset < 0 {
						continue
					}
					lie := strings.Join(append(append(append([]string{}, cols[:i]...), fmt.Sprint(hop[:at], "+", was+offset)), cols[i+1:]...), "\t")
					table, b := p.proven(c, parsed(t, strings.Replace(text, line, lie, 1)), "")
					lies++
					if v, _ := table.Value(cols[0], memory.Side(cols[1]), cols[2]); v.None != memory.Differs || b.values != 1 {
						t.Errorf("%s: %q is believed, or %d values are left out", name, lie, b.values)
					}
					if s := c.Steps[indexOf(c, cols[0])]; cols[1] == string(memory.Pod) && lost(&s, table).IsZero() {
						t.Errorf("%s: %s is seen without its pod's %s", name, cols[0], cols[2])
					}
				}
			}
		}
		if lies < 50 {
			t.Errorf("%s: only %d lies were told", name, lies)
		}
	}
}

func indexOf(c *probes.Catalogue, step string) int {
	for i := range c.Steps {
		if c.Steps[i].Name == step {
			return i
		}
	}
	return -1
}

// TestOtherFunctions: a function with other arguments is not looked at. One that begins elsewhere is, and shows that the
// kubelet is of other source: the locks that people have read are then not those of this kubelet.
func TestOtherFunctions(t *testing.T) {
	p, c := toy(t), toyCatalogue()
	text := trueTable(t, p)
	is, ok := parsed(t, text).Shape("toy.sync")
	if !ok || is.AMD64 == 0 {
		t.Fatalf("the shape of toy.sync is %v, %v", is, ok)
	}
	for name, x := range map[string]struct {
		shape      memory.Shape
		seen, same bool
	}{
		"the same":       {is, true, true},
		"another line":   {shapeOf(is.Line+1, is.AMD64), true, false},
		"more arguments": {shapeOf(is.Line, is.AMD64+8), false, false},
		"less arguments": {shapeOf(is.Line, is.AMD64-8), false, false},
	} {
		table, b := p.proven(c, parsed(t, strings.Replace(text, shapeLine("toy.sync", is), shapeLine("toy.sync", x.shape), 1)), "")
		plan, err := newPlan(c, p, table, 1)
		if err != nil {
			t.Fatal(err)
		}
		probe := &Probe{plan: plan, table: table, version: probes.KubernetesVersion, build: b}
		if why := plan.unseen["toy.sync"]; why.IsZero() != x.seen {
			t.Errorf("%s: toy.sync is not seen: %q", name, why.Text().En)
		}
		if fork, _ := p.proven(c, parsed(t, strings.Replace(text, shapeLine("toy.sync", is), shapeLine("toy.sync", x.shape), 1)), probes.KubernetesVersion+"-fork"); x.seen {
			if v, _ := fork.Value("toy.sync", memory.Enter, "attempt"); (v.Form != nil) != x.same {
				t.Errorf("%s: in a fork attempt is %+v", name, v)
			}
		}
		if probe.OtherSource().IsZero() != x.same {
			t.Errorf("%s: the kubelet is taken for the same source, or not: %+v", name, b)
		}
	}
}

// TestTypeWithoutReflection: what lies in a type that the program does not keep is read only if the step's function is that
// of the table.
func TestTypeWithoutReflection(t *testing.T) {
	p, c := toy(t), toyCatalogue()
	text := strings.ReplaceAll(trueTable(t, p), "\tkubelet.Node:", "\tkubelet.nobody:")
	if _, b := p.proven(c, parsed(t, text), ""); b.values != 0 {
		t.Errorf("in the same function %d values are left out", b.values)
	}
	is, _ := parsed(t, text).Shape("toy.mount")
	text = strings.Replace(text, shapeLine("toy.mount", is), shapeLine("toy.mount", shapeOf(is.Line+1, is.AMD64)), 1)
	table, b := p.proven(c, parsed(t, text), "")
	if v, _ := table.Value("toy.mount", memory.Exit, "node"); v.None != memory.Unshown || b.values != 2 {
		t.Errorf("in another function node is %+v, and %d values are left out", v, b.values)
	}
}
