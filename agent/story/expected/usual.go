package expected

import (
	"slices"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/outline"
	"github.com/podstep/podstep/probes"
)

// none is history.None.
const none = history.None

// turnsOf has the catalogue's name of each kind of turn.
var turnsOf = [outline.Kinds]probes.Turn{
	outline.Create: probes.TurnCreate, outline.Sync: probes.TurnSync, outline.Terminating: probes.TurnTerminating, outline.Terminated: probes.TurnTerminated,
}

// Usual knows which steps each step calls in the turns of a session, by the kind of the turn. Until there were any
// turns, it knows what the catalogue has.
type Usual struct {
	h     *history.History
	kinds [outline.Kinds]map[history.StepID]*family
}

// family has how often a step ran, and how often it called each other step, in order.
type family struct {
	n    int
	kids []kid
}

type kid struct {
	step history.StepID
	seen int
}

// New returns what is usual by the catalogue of a history.
func New(h *history.History) *Usual {
	u, c := &Usual{h: h}, h.Catalogue()
	for k := range u.kinds {
		u.kinds[k] = map[history.StepID]*family{}
		for i := range c.Steps {
			calls := c.Steps[i].Story.Usual[turnsOf[k]]
			if len(calls) == 0 {
				continue
			}
			f := &family{n: 1}
			for _, name := range calls {
				f.kids = append(f.kids, kid{h.StepNamed(name), 1})
			}
			u.kinds[k][h.StepNamed(c.Steps[i].Name)] = f
		}
	}
	return u
}

// family returns what a step calls in turns of a kind; if it was never seen in one, what it calls in turns that
// create a pod; nil if that is not known.
func (u *Usual) family(kind outline.Kind, step history.StepID) *family {
	if f := u.kinds[kind][step]; f != nil {
		return f
	}
	return u.kinds[outline.Create][step]
}

// maxCalls bounds the calls of one turn that are learnt from, from the newest on.
const maxCalls = 3000

// Learn learns from a turn that has ended. It learns nothing from a turn that failed, since that broke off somewhere.
func (u *Usual) Learn(p *outline.Pod, t *outline.Turn) {
	if t.Failed {
		return
	}
	it := p.Items.At(t.Item)
	calls := map[int][]history.StepID{}
	var order []int
	for i := max(it.First, p.Spans.First, it.Last-maxCalls); i < it.Last; i++ {
		ref := *p.Spans.At(i)
		sp := u.h.Span(ref)
		if sp == nil || sp.Item != t.Item || sp.Exit == none || u.h.Role(sp.Step) == probes.RoleTransition {
			continue
		}
		if _, ok := calls[ref]; !ok {
			calls[ref] = nil
			order = append(order, ref)
		}
		if sp.Parent != none && ref != t.Span {
			calls[sp.Parent] = append(calls[sp.Parent], sp.Step)
		}
	}
	kind := u.kinds[t.Kind]
	for _, ref := range order {
		step := u.h.Span(ref).Step
		if kind[step] == nil {
			kind[step] = &family{}
		}
		kind[step].learn(calls[ref])
	}
}

// forgetAfter keeps what was learnt long ago from outweighing what is seen now.
const forgetAfter = 64

// learn takes the steps that one call called, in order, each step once.
func (f *family) learn(calls []history.StepID) {
	if f.n >= forgetAfter {
		f.n /= 2
		for i := range f.kids {
			f.kids[i].seen /= 2
		}
	}
	f.n++
	after := -1
	for i, c := range calls {
		if slices.Contains(calls[:i], c) {
			continue
		}
		k := slices.IndexFunc(f.kids, func(k kid) bool { return k.step == c })
		if k < 0 {
			k = after + 1
			f.kids = slices.Insert(f.kids, k, kid{step: c})
		}
		f.kids[k].seen++
		after = max(after, k)
	}
}

// likely reports whether a call is made more often than not.
func (f *family) likely(k kid) bool { return 2*k.seen >= f.n }
