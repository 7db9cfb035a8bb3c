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
// made. A function with other arguments than the table has is refused: podstep would take one value for another.
func find(s *probes.Step, p *program, table *memory.Table) ([]probes.Code, probes.Reason) {
	if s.Closure == "" {
		if f, ok := p.Code(s.Symbol); ok {
			if len(p.fitting([]probes.Code{f}, s, table)) == 0 {
				return nil, reasons.OtherArguments.With("version", table.Version)
			}
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

// fitting returns those of some functions that have the arguments of a step's function.
func (p *program) fitting(all []probes.Code, s *probes.Step, table *memory.Table) (fit []probes.Code) {
	want, known := table.Shape(s.Name)
	for _, f := range all {
		if fn, err := p.function(f); err == nil && (!known || fn.Arguments() == want.Arguments(p.code.Arch())) {
			fit = append(fit, f)
		}
	}
	return fit
}

// literals returns the functions that a literal of the step's function has become.
func literals(s *probes.Step, p *program, table *memory.Table) []probes.Code {
	all := p.Literals(s)
	v, ok := table.Value(s.Name, memory.Symbol, s.Closure)
	name, lines, _ := strings.Cut(v.Words, " +")
	after, err := strconv.Atoi(lines)
	if !ok || err != nil || table.Near && len(all) > 1 {
		return nil // lines and names of literals change from version to version
	}
	line := 0
	if outer, ok := p.Code(s.Symbol); ok {
		line = outer.Line + after
	} else if shape, ok := table.Shape(s.Name); ok { // the function around it was inlined elsewhere
		line = shape.Line
	}
	return chosen(p.fitting(all, s, table), s.Symbol+name, line)
}

// chosen chooses among the literals of a function: those that begin on a line, and of these the one with a name. If none
// begins there, all literals have to begin on one line, as copies do. A patch of the kubelet moves lines and names, and
// a literal that is taken for another would show what never happened.
func chosen(all []probes.Code, name string, line int) []probes.Code {
	there := slices.DeleteFunc(slices.Clone(all), func(f probes.Code) bool { return f.Line != line })
	if i := slices.IndexFunc(there, func(f probes.Code) bool { return f.Name == name }); i >= 0 {
		return there[i : i+1]
	}
	if len(there) > 0 {
		return there
	}
	if slices.ContainsFunc(all, func(f probes.Code) bool { return f.Line != all[0].Line }) {
		return nil
	}
	return all
}
