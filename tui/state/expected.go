package state

import (
	"slices"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/outline"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/tui/screen"
)

// turnsOf are the kinds of turns by the catalogue's names for them.
var turnsOf = [outline.Kinds]probes.Turn{
	outline.Create: probes.TurnCreate, outline.Sync: probes.TurnSync, outline.Terminating: probes.TurnTerminating, outline.Terminated: probes.TurnTerminated,
}

// learnt is what happened in the turns of this session, by kind. Until there were
// any, it is what the catalogue says is usual.
type learnt struct {
	kinds [outline.Kinds]map[history.StepID]*family
}

// family is what a step calls: how often it ran, and how often each call was
// made in it, in order.
type family struct {
	n    int
	kids []kid
}

type kid struct {
	step history.StepID
	seen int
}

// forgetAfter keeps what was learnt long ago from outweighing what is seen now.
const forgetAfter = 64

func newLearnt(h *history.History) (l learnt) {
	c := h.Catalogue()
	for k := range l.kinds {
		l.kinds[k] = map[history.StepID]*family{}
		for i := range c.Steps {
			calls := c.Steps[i].Story.Usual[turnsOf[k]]
			if len(calls) == 0 {
				continue
			}
			f := &family{n: 1}
			for _, name := range calls {
				f.kids = append(f.kids, kid{h.StepNamed(name), 1})
			}
			l.kinds[k][h.StepNamed(c.Steps[i].Name)] = f
		}
	}
	return l
}

// learn takes the calls that one call made, in order, calls of the same step
// once.
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

// likely tells whether a call is made more often than not.
func (f *family) likely(k kid) bool { return 2*k.seen >= f.n }

// learnTurn learns from a turn that went well. One that failed broke off
// somewhere, which says nothing about the next.
func (s *State) learnTurn(p *outline.Pod, t *outline.Turn) {
	if t.Failed {
		return
	}
	it := p.Items.At(t.Item)
	calls := map[int][]history.StepID{}
	var order []int
	for i := max(it.First, p.Spans.First, it.Last-maxCalls); i < it.Last; i++ {
		ref := *p.Spans.At(i)
		sp := s.h.Span(ref)
		if sp == nil || sp.Item != t.Item || sp.Exit == none || s.h.Role(sp.Step) == probes.RoleTransition {
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
	kind := s.learnt.kinds[t.Kind]
	for _, ref := range order {
		step := s.h.Span(ref).Step
		if kind[step] == nil {
			kind[step] = &family{}
		}
		kind[step].learn(calls[ref])
	}
}

// plan is what the runtime's plan of a turn says will come.
type plan struct {
	known          bool
	sandbox, start bool
}

// planOf finds the plan that was made in a call of the runtime's SyncPod.
func (l *layouter) planOf(rt *history.Span) (pl plan) {
	for i := rt.Ordinal + 1; i < min(rt.Ordinal+16, l.p.Spans.End()); i++ {
		sp := l.s.h.Span(*l.p.Spans.At(i))
		if sp == nil || l.s.h.Role(sp.Step) != probes.RolePlan || l.s.h.Span(sp.Parent) != rt {
			continue
		}
		if !sp.Over(l.at) || sp.Shape == history.NoExit {
			return pl
		}
		raw := l.s.h.Raw(sp.Exit)
		pl.known = raw != nil
		pl.sandbox = wire.Lookup(raw, "createSandbox").Flag()
		for _, f := range []string{"containersToStart", "initContainersToStart"} {
			v := wire.Lookup(raw, f)
			pl.start = pl.start || v.Found() && string(v.Text) != "[]"
		}
		return pl
	}
	return pl
}

// forecast lays out what is expected in one call.
type forecast struct {
	l    *layouter
	kind outline.Kind
	span int
	used map[history.StepID]int
}

// expected lays out what usually comes next in a call that goes on, after the
// steps that were seen in it.
func (l *layouter) expected(sp *history.Span, seen []history.StepID, depth int) {
	tn := l.p.Turns.At(l.p.Items.At(sp.Item).Turn)
	if tn == nil {
		return
	}
	f := forecast{l: l, kind: tn.Kind, span: *l.p.Spans.At(sp.Ordinal), used: map[history.StepID]int{}}
	pl := plan{}
	if l.s.h.Role(sp.Step) == probes.RoleRuntime {
		pl = l.planOf(sp)
	}
	f.calls(sp.Step, seen, pl, depth)
}

// expectedAfter lays out what comes when the turn itself is over.
func (l *layouter) expectedAfter(tn *outline.Turn, t *tree, depth int) {
	it := l.p.Items.At(tn.Item)
	f := forecast{l: l, kind: tn.Kind, span: it.Span, used: map[history.StepID]int{}}
	var seen []history.StepID
	for _, r := range t.roots {
		seen = append(seen, l.s.h.Span(t.nodes[r].span).Step)
	}
	turn := l.s.h.StepFor(probes.RoleTurn)
	if !slices.Contains(seen, turn) {
		f.calls(turn, nil, plan{}, depth)
	}
	if len(seen) > 0 && l.s.h.Role(seen[len(seen)-1]) == probes.RoleComplete {
		return
	}
	f.calls(l.s.h.StepFor(probes.RoleWorker), seen, plan{}, depth)
}

// family is what a step calls in turns of this kind, or in others if it was
// never seen in one of these.
func (f *forecast) family(step history.StepID) *family {
	if fam := f.l.s.learnt.kinds[f.kind][step]; fam != nil {
		return fam
	}
	return f.l.s.learnt.kinds[outline.Create][step]
}

func (f *forecast) calls(step history.StepID, seen []history.StepID, pl plan, depth int) {
	fam := f.family(step)
	if fam == nil {
		return
	}
	next := 0
	for i, k := range fam.kids {
		if slices.Contains(seen, k.step) {
			next = i + 1
		}
	}
	started := false
	for _, k := range fam.kids[next:] {
		ok := fam.likely(k)
		if pl.known {
			ok = f.planned(k.step, pl, ok)
		}
		if !ok {
			continue
		}
		started = started || f.l.s.h.Role(k.step) == probes.RoleContainer
		f.one(k.step, depth)
	}
	start := f.l.s.h.StepFor(probes.RoleContainer)
	if pl.known && pl.start && !started && !slices.Contains(seen, start) {
		f.one(start, depth)
	}
}

// planned corrects what is usual by what is planned.
func (f *forecast) planned(step history.StepID, pl plan, usual bool) bool {
	switch f.l.s.h.Step(step).Means().Planned {
	case probes.PlannedStart:
		return pl.start
	case probes.PlannedSandbox:
		return pl.sandbox
	case probes.PlannedWithSandbox:
		return usual && pl.sandbox
	}
	return usual
}

// one lays out one expected step with what is expected in it. Steps for a
// closer look, and those that share a row with others, have no row.
func (f *forecast) one(step history.StepID, depth int) {
	if f.used[step] >= 2 || depth > maxDepth {
		return // a step that calls itself
	}
	st := f.l.s.h.Step(step)
	n := f.used[step]
	f.used[step]++
	inner := depth
	if st.Tier() == 1 && st.Means().Role != probes.RoleWork && !st.Means().Joins {
		f.l.add(line{key: lineKey{kind: keyExpected, a: f.span, b: int(step)*4 + n}, kind: screen.RowExpected, depth: depth, span: none, item: none, step: step})
		inner++
	}
	f.calls(step, nil, plan{}, inner)
}
