//go:build linux

package uprobe

import (
	"slices"
	"strconv"
	"strings"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/memory"
	"github.com/podstep/podstep/probes/reasons"
)

// find finds the step's function in the program: of a literal all copies that the compiler
// has made.
func find(s *probes.Step, p *program, table *memory.Table) ([]probes.Code, probes.Reason) {
	if s.Closure == "" {
		if f, ok := p.Code(s.Symbol); ok {
			return []probes.Code{f}, probes.Reason{}
		}
	} else if all := literals(s, p, table); len(all) > 0 {
		return all, probes.Reason{}
	}
	_, why := p.Has(s)
	if why == "" {
		why = "podstep cannot find out which of the function's literals it is"
	}
	return nil, reasons.NotThere.With("error", why)
}

// literals are the functions that a literal of the step's function has become. If there are
// several literals, those are meant that begin where the table's source has it, or closest:
// patches of the kubelet move lines.
func literals(s *probes.Step, p *program, table *memory.Table) []probes.Code {
	all := p.Literals(s)
	v, ok := table.Value(s.Name, memory.Symbol, s.Closure)
	name, lines, _ := strings.Cut(v.Words, " +")
	after, err := strconv.Atoi(lines)
	if !ok || err != nil || len(all) == 0 {
		return nil
	}
	for _, f := range all {
		if f.Name == s.Symbol+name {
			return []probes.Code{f}
		}
	}
	outer, ok := p.Code(s.Symbol)
	if !ok { // it is in other functions, whose lines say nothing of the distance
		line := all[0].Line
		if slices.ContainsFunc(all, func(f probes.Code) bool { return f.Line != line }) {
			return nil
		}
		return all
	}
	distance := func(f probes.Code) int { return max(f.Line-outer.Line-after, outer.Line+after-f.Line) }
	best := slices.MinFunc(all, func(a, b probes.Code) int { return distance(a) - distance(b) })
	return slices.DeleteFunc(all, func(f probes.Code) bool { return f.Line != best.Line })
}
