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

// find finds the step's function in the program. If it is a literal, find returns all copies that the compiler has
// made.
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

// literals returns the functions that a literal of the step's function has become. If the function has several
// literals, they are those that begin on the line that the table has, or closest to it: patches of the kubelet move
// lines.
func literals(s *probes.Step, p *program, table *memory.Table) []probes.Code {
	all := p.Literals(s)
	v, ok := table.Value(s.Name, memory.Symbol, s.Closure)
	name, lines, _ := strings.Cut(v.Words, " +")
	after, err := strconv.Atoi(lines)
	if !ok || err != nil || len(all) == 0 || table.Near && len(all) > 1 {
		return nil // lines and names of literals change from version to version
	}
	named := slices.IndexFunc(all, func(f probes.Code) bool { return f.Name == s.Symbol+name })
	outer, ok := p.Code(s.Symbol)
	return chosen(all, named, outer.Line, ok, after)
}

// chosen chooses among the literals of a function: the one that has the name of the table, if no other begins closer to
// the line that the table has. A patch that adds a literal moves the names of those behind it. named is the index of
// that one; -1: there is none. line is that of the function, if it is known.
func chosen(all []probes.Code, named, line int, known bool, after int) []probes.Code {
	if !known && named >= 0 {
		return all[named : named+1]
	}
	if !known { // it was inlined elsewhere, so its lines do not show the distance
		first := all[0].Line
		if slices.ContainsFunc(all, func(f probes.Code) bool { return f.Line != first }) {
			return nil
		}
		return all
	}
	distance := func(f probes.Code) int { return max(f.Line-line-after, line+after-f.Line) }
	best := slices.MinFunc(all, func(a, b probes.Code) int { return distance(a) - distance(b) })
	if named >= 0 && distance(all[named]) == distance(best) {
		return all[named : named+1]
	}
	return slices.DeleteFunc(all, func(f probes.Code) bool { return f.Line != best.Line })
}
