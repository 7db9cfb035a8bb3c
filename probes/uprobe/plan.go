//go:build linux

package uprobe

import (
	"fmt"
	"go/ast"
	"slices"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/memory"
	"github.com/podstep/podstep/probes/reasons"
	"github.com/podstep/podstep/probes/uprobe/callers"
	"github.com/podstep/podstep/probes/uprobe/goproc"
)

// plan is what the program does at a kubelet's steps.
type plan struct {
	steps  []*step // that are seen
	places []*planned
	reads  []readSpec
	// starts are where a goroutine has been made.
	starts []place
	// unseen are the reasons for steps that are not.
	unseen  map[string]probes.Reason
	layout  layoutSpec
	callers *callers.Table // of the catalogue's functions
	numbers uint64         // the address of the highest number of a goroutine; 0: it is not known
}

// step is a step that is seen.
type step struct {
	*probes.Step
	// symbols are those of its functions, and of the literals in them.
	symbols []string
	enter   *side
	exit    *side
	// quiet is the condition under which a call is no event; nil: there is none, or it
	// cannot be decided.
	quiet ast.Expr
	// missing are the fields that cannot be read.
	missing []string
}

// planned is a place of a step.
type planned struct {
	place
	spec placeSpec
	step *step
	side *side
	exit bool
	now  uint8 // the flags that the kernel has
}

// newPlan plans what to read at a catalogue's steps of a tier, or a lower one, in a program.
func newPlan(c *probes.Catalogue, p *program, table *memory.Table, tier int) (*plan, error) {
	layout, err := goroutineLayout(p.GoVersion)
	if err != nil {
		return nil, err
	}
	out := &plan{layout: layout, unseen: map[string]probes.Reason{}, callers: callersIn(c, p)}
	out.numbers, _ = p.numbersAt()
	for i := range c.Steps {
		s := &c.Steps[i]
		switch {
		case s.Outside():
		case s.Tier > tier && !s.Root && !s.Starts && !s.Carries && !s.Awaits: // by those podstep knows whose goroutine it is
			out.unseen[s.Name] = reasons.HigherTier.Reason()
		case s.Idle && alone(c, s, tier):
			out.unseen[s.Name] = reasons.InsideHigher.Reason()
		default:
			if why := out.add(s, p, table); !why.IsZero() {
				out.unseen[s.Name] = why
			}
		}
	}
	if out.starts, err = starts(p); err != nil {
		return nil, err
	}
	if len(out.places)+len(out.starts) >= maxPlaces || len(out.reads) > maxReads {
		return nil, fmt.Errorf("plan probes: %d places with %d values are too many", len(out.places), len(out.reads))
	}
	return out, nil
}

// callersIn has the lines of all functions of a catalogue that are in a program.
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

// goroutineLayout is that of a kubelet that a version of Go compiled, such as go1.26.8.
func goroutineLayout(version string) (layoutSpec, error) {
	minor, _ := goproc.Minor(version)
	l, ok := goproc.LayoutOf(minor)
	if !ok {
		return layoutSpec{}, fmt.Errorf("how Go's runtime keeps its goroutines is not known here for %s", version)
	}
	return layoutSpec{Goid: l.Number, Parent: l.Parent, Start: l.Start}, nil
}

// alone reports whether no other step of a tier, or a lower one, is on a step's goroutine. If
// the step is idle unless something happens in it, then nothing would ever be shown of it,
// though the kubelet may come there a thousand times a second.
func alone(c *probes.Catalogue, s *probes.Step, tier int) bool {
	return !slices.ContainsFunc(c.Steps, func(o probes.Step) bool {
		return o.ID != s.ID && o.Tier <= tier && o.Goroutine == s.Goroutine && !o.Root
	})
}

// add plans a step, or gives the reason why it cannot be seen.
func (p *plan) add(s *probes.Step, prog *program, table *memory.Table) probes.Reason {
	functions, why := find(s, prog, table)
	if !why.IsZero() {
		return why
	}
	st := &step{Step: s}
	r := reader{table: table, step: st}
	st.enter, st.exit = r.enter(), r.exit()
	if max(len(st.enter.reads), len(st.exit.reads)) > maxValues {
		return reasons.NotKnown.With("error", "it has too many values")
	}
	var places []*planned
	for _, f := range functions {
		at, err := st.placesOf(f, prog)
		if err != nil {
			return reasons.NotKnown.With("error", err.Error())
		}
		places = append(places, at...)
		st.symbols = append(st.symbols, f.Name)
		for _, l := range prog.Within(f.Name) {
			st.symbols = append(st.symbols, l.Name)
		}
	}
	p.steps = append(p.steps, st)
	enter, exit := p.put(st.enter), p.put(st.exit)
	for _, at := range places {
		at.spec.First = enter
		if at.exit {
			at.spec.First = exit
		}
		p.places = append(p.places, at)
	}
	return probes.Reason{}
}

// put adds a side's reads to those of the plan, and gives the number of the first.
func (p *plan) put(s *side) uint16 {
	first := len(p.reads)
	p.reads = append(append(p.reads, s.reads...), s.elements...)
	return uint16(first)
}

func (s *step) planned(at place, side *side, exit bool) *planned {
	spec := placeSpec{
		Below: uint32(at.below), Reads: uint8(len(side.reads)), Step: uint32(s.ID),
		Lists: uint8(len(side.lists)), Elements: uint8(len(side.elements)), Stride: uint8(side.stride),
	}
	if len(side.lists) > 0 {
		spec.List = uint8(side.lists[0].slot)
	}
	if exit {
		spec.Flags |= placeExit
	} else if s.Stage == runtimeCalls {
		spec.Flags |= placeWakes
	}
	if s.exit.entry {
		spec.Flags |= placeKeeps
	}
	return &planned{place: at, spec: spec, step: s, side: side, exit: exit, now: spec.Flags}
}

// runtimeCalls is the stage whose calls the probe at the runtime's socket sees too, a little
// later: of a call that two probes see, the first one's parent is in the story.
const runtimeCalls = "cri"
