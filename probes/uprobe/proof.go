//go:build linux

package uprobe

import (
	"slices"
	"strconv"
	"strings"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/gotypes"
	"github.com/podstep/podstep/probes/memory"
	"github.com/podstep/podstep/probes/reasons"
)

// A table is made from a release's source. A fork, or a kubelet that its vendor has patched, may keep values elsewhere
// though it has the same version. So the table is held against the program: against the types that the program has for
// reflection, and against the lines and arguments of the steps' functions.

// build is how a program compares with a table.
type build struct {
	// same has the steps whose functions begin on the table's line, and have its arguments.
	same map[string]bool
	// other is how many steps' functions do not. values is how many values are left out.
	other, values int
}

// proven returns the table with only those values of which the program shows that they are where the table has them. A
// kubelet of the table's own version has the table's functions. Of one that differs there, only the pods are read: the
// program does not show how many results it has, nor in which order its arguments are.
func (p *program) proven(c *probes.Catalogue, t *memory.Table, version string) (*memory.Table, build) {
	b := p.compare(c, t)
	out := t.Without(func(step string, side memory.Side, v memory.Value) (why memory.Reason) {
		if v.Form == nil {
			return ""
		}
		same, known := b.same[step]
		why = doubt(p.types(), v.Form.Hops, same)
		if why == "" && known && !same && side != memory.Pod && claims(version, t) {
			why = memory.Unshown
		}
		if why != "" {
			b.values++
		}
		return why
	})
	return out, b
}

// claims reports whether a kubelet's version says that it is of the source that a table was made from, or that a vendor
// has built it from that.
func claims(version string, t *memory.Table) bool {
	rest, ok := strings.CutPrefix(version, t.Version)
	return ok && (rest == "" || rest[0] == '-' || rest[0] == '+')
}

// compare compares the steps' functions with those of a table.
func (p *program) compare(c *probes.Catalogue, t *memory.Table) build {
	b := build{same: map[string]bool{}}
	for i := range c.Steps {
		s := &c.Steps[i]
		want, ok := t.Shape(s.Name)
		if !ok {
			continue
		}
		found := p.Literals(s)
		if s.Closure == "" {
			f, ok := p.Code(s.Symbol)
			if !ok {
				continue
			}
			found = []probes.Code{f}
		}
		if len(found) == 0 {
			continue
		}
		b.same[s.Name] = slices.ContainsFunc(p.fitting(found, s, t), func(f probes.Code) bool { return f.Line == want.Line })
		if !b.same[s.Name] {
			b.other++
		}
	}
	return b
}

// doubt returns why it is not known where the members lie to which hops lead; empty: the program has types of these
// names that have them there. A type that the program does not keep for reflection is taken for the table's if the
// step's function is the same.
func doubt(types *gotypes.Types, hops []memory.Hop, same bool) (why memory.Reason) {
	for _, h := range hops {
		path, at := h.Members, h.Offset
		if p, ok := strings.CutSuffix(path, memory.Len); ok { // the second word of a text or a slice, the first of a map
			path = strings.TrimSuffix(p, ".")
			if path != "" {
				at -= wordSize
			}
		}
		if path == "" && at == 0 {
			continue
		}
		switch offsets, structures := types.Offsets(h.Type, path); {
		case slices.Contains(offsets, uint64(at)):
		case structures > 0:
			return memory.Differs
		case !same:
			why = memory.Unshown
		}
	}
	return why
}

// wordSize is the size of a pointer.
const wordSize = 8

// lost returns why the pod of a step's calls cannot be read, though the table had a form for it; none if it can. Without
// its pod, a call would be in no story or in another's.
func lost(s *probes.Step, table *memory.Table) (why probes.Reason) {
	names := []string{memory.UID, memory.Namespace, memory.Name, memory.Version, memory.ID, memory.List}
	for _, u := range s.Pod.Updates {
		names = append(names, u.Op)
	}
	for _, name := range names {
		if v, _ := table.Value(s.Name, memory.Pod, name); v.None == memory.Differs || v.None == memory.Unshown {
			why = reasons.NotThere.With("error", memory.Reasons[v.None].En)
		}
	}
	return why
}

// OtherSource returns how this kubelet differs from the release that the table was made from, if it has that version or
// values are left out; otherwise none.
func (p *Probe) OtherSource() (why probes.Reason) {
	if b := p.build; !p.table.Near && b.other > 0 && (claims(p.version, p.table) || b.values > 0) {
		why = reasons.OtherSource.With("version", p.table.Version, "functions", strconv.Itoa(b.other), "values", strconv.Itoa(b.values))
	}
	return why
}
