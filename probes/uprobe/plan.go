//go:build linux

package uprobe

import (
	"fmt"
	"go/ast"
	"slices"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/inside/goproc"
	"github.com/podstep/podstep/probes/inside/reading"
	"github.com/podstep/podstep/probes/memory"
	"github.com/podstep/podstep/probes/reasons"
	"github.com/podstep/podstep/probes/uprobe/callers"
)

// plan states what the program in the kernel does at a kubelet's steps.
type plan struct {
	steps []*step // the steps that are seen
	// places are those of the steps. The kernel looks all the time at the first ones, whose number is always, and at the others
	// while the probe looks closely.
	places []*planned
	always int
	reads  []reading.Read
	// starts are the places at which a goroutine has been made.
	starts []place
	// begins has the symbols of functions with which goroutines begin, of steps that are not seen.
	begins map[string][]string
	// unseen has the steps that are not seen, with the reasons.
	unseen  map[string]probes.Reason
	layout  reading.Layout
	callers *callers.Table // of the catalogue's functions
	numbers uint64         // the address of the highest number of a goroutine; 0: it is not known
}

// step is a step that is seen.
type step struct {
	*probes.Step
	// symbols are the symbols of its functions, and of the literals in them.
	symbols []string
	enter   *side
	exit    *side
	// quiet is the condition under which a call is no event. It is nil if there is none, or if it cannot be
	// evaluated.
	quiet ast.Expr
	// closely: it is seen only while the probe looks closely.
	closely bool
	// missing are the fields that cannot be read.
	missing []string
}

// planned is a place of a step.
type planned struct {
	place
	spec reading.Spec
	step *step
	side *side
	exit bool
	now  uint8 // the flags that the kernel has now
}

// newPlan plans what to read in a program at the catalogue's steps: all the time at those of a tier and of lower tiers, and at
// the others while the probe looks closely.
func newPlan(c *probes.Catalogue, p *program, table *memory.Table, tier int) (*plan, error) {
	layout, err := goroutineLayout(p.GoVersion)
	if err != nil {
		return nil, err
	}
	out := &plan{layout: layout, begins: map[string][]string{}, unseen: map[string]probes.Reason{}, callers: callersIn(c, p)}
	out.numbers, _ = p.numbersAt()
	for i := range c.Steps {
		s := &c.Steps[i]
		switch {
		case s.Outside():
		case s.Idle && alone(c, s, max(s.Tier, tier)):
			out.unseen[s.Name] = reasons.InsideHigher.Reason()
		default:
			if why := out.addStep(s, p, table, s.Tier > tier && !showsGoroutine(s)); !why.IsZero() {
				out.unseen[s.Name] = why
				out.addBeginning(s, p)
			}
		}
	}
	if out.starts, err = starts(p); err != nil {
		return nil, err
	}
	out.sortPlaces()
	if len(out.places)+len(out.starts) >= maxPlaces || len(out.reads) > maxReads {
		return nil, fmt.Errorf("plan probes: %d places with %d values are too many", len(out.places), len(out.reads))
	}
	return out, nil
}

// showsGoroutine reports whether a step shows podstep whose goroutine it is.
func showsGoroutine(s *probes.Step) bool { return s.Root || s.Starts || s.Carries || s.Awaits }

// sortPlaces puts the places at which the kernel looks all the time before the others.
func (p *plan) sortPlaces() {
	always, closely := []*planned{}, []*planned{}
	for _, at := range p.places {
		if at.step.closely {
			closely = append(closely, at)
		} else {
			always = append(always, at)
		}
	}
	p.places, p.always = append(always, closely...), len(always)
}

// callersIn returns the lines of all functions of a catalogue that are in a program.
func callersIn(c *probes.Catalogue, p *program) *callers.Table {
	t, added := &callers.Table{}, map[string]bool{}
	for i := range c.Steps {
		s := &c.Steps[i]
		if s.Outside() || added[s.Symbol] {
			continue
		}
		added[s.Symbol] = true
		all := p.Within(s.Symbol)
		if f, ok := p.Code(s.Symbol); ok {
			all = append(all, f)
		}
		for _, f := range all {
			if code, err := p.function(f); err == nil {
				t.Add(s.Symbol, code)
			}
		}
	}
	return t
}

// goroutineLayout returns the layout in a kubelet that a version of Go compiled, such as go1.26.8.
func goroutineLayout(version string) (reading.Layout, error) {
	minor, _ := goproc.Minor(version)
	l, ok := goproc.LayoutOf(minor)
	if !ok {
		return reading.Layout{}, fmt.Errorf("how Go's runtime keeps its goroutines is not known here for %s", version)
	}
	return reading.Layout{Goid: l.Number, Parent: l.Parent, Start: l.Start}, nil
}

// alone reports whether no other step of the tier, or of a lower one, is on a step's goroutine. A call of a step that
// is idle is shown only if something happens in it. So if such a step is alone, nothing would ever be shown of it,
// though the kubelet may come there a thousand times a second.
func alone(c *probes.Catalogue, s *probes.Step, tier int) bool {
	return !slices.ContainsFunc(c.Steps, func(o probes.Step) bool {
		return o.ID != s.ID && o.Tier <= tier && o.Goroutine == s.Goroutine && !o.Root
	})
}

// addStep plans a step, to be seen all the time or only closely, or returns the reason why it cannot be seen.
func (p *plan) addStep(s *probes.Step, prog *program, table *memory.Table, closely bool) probes.Reason {
	functions, why := find(s, prog, table)
	if why.IsZero() {
		why = lost(s, table)
	}
	if !why.IsZero() {
		return why
	}
	st := &step{Step: s, closely: closely}
	r := reader{table: table, step: st, arch: prog.code.Arch()}
	st.enter, st.exit = r.enter(), r.exit()
	if max(len(st.enter.reads), len(st.exit.reads)) > reading.MaxValues {
		return reasons.NotKnown.With("error", "it has too many values")
	}
	var places []*planned
	for _, f := range functions {
		at, err := st.placesOf(f, prog)
		if err != nil {
			return reasons.NotKnown.With("error", err.Error())
		}
		places = append(places, at...)
		st.symbols = append(st.symbols, symbolsOf(f, prog)...)
	}
	p.steps = append(p.steps, st)
	enter, exit := p.addReads(st.enter), p.addReads(st.exit)
	for _, at := range places {
		at.spec.First = enter
		if at.exit {
			at.spec.First = exit
		}
		p.places = append(p.places, at)
	}
	return probes.Reason{}
}

// addBeginning keeps the function of a step that is not seen, since its arguments or values are not those of the table. A
// goroutine that begins with it is of that kind all the same.
func (p *plan) addBeginning(s *probes.Step, prog *program) {
	f, ok := prog.Code(s.Symbol)
	if !ok || s.Closure != "" || !s.Root && !s.Starts && !s.Awaits {
		return
	}
	p.begins[s.Name] = symbolsOf(f, prog)
}

// symbolsOf returns the symbols of a function, and of the literals in it.
func symbolsOf(f probes.Code, prog *program) []string {
	out := []string{f.Name}
	for _, l := range prog.Within(f.Name) {
		out = append(out, l.Name)
	}
	return out
}

// addReads adds a side's reads to those of the plan, and returns the number of the first.
func (p *plan) addReads(s *side) uint16 {
	first := len(p.reads)
	p.reads = append(append(p.reads, s.reads...), s.elements...)
	return uint16(first)
}

func (s *step) planned(at place, side *side, exit bool) *planned {
	spec := reading.Spec{
		Below: uint32(at.below), Reads: uint8(len(side.reads)), Step: uint32(s.ID),
		Lists: uint8(len(side.lists)), Elements: uint8(len(side.elements)), Stride: uint8(side.stride),
	}
	if len(side.lists) > 0 {
		spec.List = uint8(side.lists[0].slot)
	}
	if exit {
		spec.Flags |= reading.AtExit
	} else if s.Stage == runtimeCalls {
		spec.Flags |= reading.Wakes
	}
	if s.exit.entry {
		spec.Flags |= reading.Keeps
	}
	return &planned{place: at, spec: spec, step: s, side: side, exit: exit, now: spec.Flags}
}

// runtimeCalls is the stage whose calls the probe at the runtime's socket sees too, a little later. Of a call that
// two probes see, the story has the parent that the first probe gave it.
const runtimeCalls = "cri"
