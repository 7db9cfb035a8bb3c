package state

import (
	"slices"

	"github.com/podstep/podstep/probes"
)

// usual is what usually happens in a turn of each kind, in the catalogue's
// order: what is expected until turns were seen. Under each step, the steps
// that it calls.
var usual = [turnKinds]map[stepName][]stepName{
	turnCreate: {
		stepTurn:           {stepNewer, stepSync},
		stepSync:           {stepGenerateStatus, stepSetStatus, stepNetwork, "sync.cgroup", "sync.dirs", stepVolumes, "sync.pullsecrets", "sync.probes", stepRtSync},
		stepRtSync:         {stepCompute, stepSandbox, "cri.PodSandboxStatus", "rt.sandboxready", stepStartOne},
		stepSandbox:        {stepRunSandbox},
		stepStartOne:       {stepBackoff, stepStartContainer},
		stepStartContainer: {stepEnsure, "rt.config", stepCreate, stepStarted},
		stepLoop:           {stepCompleteWork},
	},
	turnSync: {
		stepTurn:   {stepNewer, stepSync},
		stepSync:   {stepGenerateStatus, stepSetStatus, stepNetwork, "sync.dirs", stepVolumes, "sync.pullsecrets", "sync.probes", stepRtSync},
		stepRtSync: {stepCompute},
		stepLoop:   {stepCompleteWork},
	},
	turnTerminating: {
		stepTurn:            {stepNewer, stepTerminating},
		stepTerminating:     {stepGenerateStatus, stepSetStatus, "probe.stop", "term.killpod", "probe.remove"},
		"term.killpod":      {"rt.killpodapi"},
		"rt.killpodapi":     {stepKillPod},
		stepKillPod:         {"rt.killcontainers", "cri.StopPodSandbox"},
		"rt.killcontainers": {stepKillOne},
		stepKillOne:         {stepStop},
		stepLoop:            {stepTerminatingEnds, stepCompleteWork},
	},
	turnTerminated: {
		stepTurn:       {stepNewer, stepTerminated},
		stepTerminated: {stepGenerateStatus, stepSetStatus, stepTermUnmount, "term.status"},
		stepLoop:       {stepTerminatedEnds},
	},
}

// learnt is what happened in the turns of this session, by kind.
type learnt struct{ kinds [turnKinds]map[stepID]*family }

// family is what a step calls: how often it ran, and how often each call was
// made in it, in order.
type family struct {
	n    int
	kids []kid
}

type kid struct {
	step stepID
	seen int
}

// forgetAfter keeps what was learnt long ago from outweighing what is seen now.
const forgetAfter = 64

func newLearnt(c *probes.Catalogue) (l learnt) {
	t := newSteps(c)
	for k := range l.kinds {
		l.kinds[k] = map[stepID]*family{}
		for parent, kids := range usual[k] {
			f := &family{n: 1}
			for _, name := range kids {
				f.kids = append(f.kids, kid{t.byName[string(name)], 1})
			}
			l.kinds[k][t.byName[string(parent)]] = f
		}
	}
	return l
}

// learn takes the calls that one call made, in order, calls of the same step
// once.
func (f *family) learn(calls []stepID) {
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
func (s *State) learnTurn(p *pod, t *turn) {
	if t.failed {
		return
	}
	it := p.items.at(t.item)
	calls := map[int][]stepID{}
	var order []int
	for i := max(it.first, p.spans.first, it.last-maxCalls); i < it.last; i++ {
		ref := *p.spans.at(i)
		sp := s.spans.at(ref)
		if sp == nil || sp.item != t.item || sp.exit == none || s.steps.role(sp.step) == roleAfter {
			continue
		}
		if _, ok := calls[ref]; !ok {
			calls[ref] = nil
			order = append(order, ref)
		}
		if sp.parent != none && ref != t.span {
			calls[sp.parent] = append(calls[sp.parent], sp.step)
		}
	}
	kind := s.learnt.kinds[t.kind]
	for _, ref := range order {
		step := s.spans.at(ref).step
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
func (l *layouter) planOf(rt *span) (pl plan) {
	for i := rt.ordinal + 1; i < min(rt.ordinal+16, l.p.spans.end()); i++ {
		sp := l.s.spans.at(*l.p.spans.at(i))
		if sp == nil || !l.s.steps.is(sp.step, stepCompute) || l.s.spans.at(sp.parent) != rt {
			continue
		}
		if !sp.over(l.at) || sp.shape == noExit {
			return pl
		}
		raw := l.s.arena.at(sp.exit)
		pl.known = raw != nil
		pl.sandbox = lookup(raw, "createSandbox").flag()
		for _, f := range []string{"containersToStart", "initContainersToStart"} {
			v := lookup(raw, f)
			pl.start = pl.start || v.ok && string(v.text) != "[]"
		}
		return pl
	}
	return pl
}

// forecast lays out what is expected in one call.
type forecast struct {
	l    *layouter
	kind turnKind
	span int
	used map[stepID]int
}

// expected lays out what usually comes next in a call that goes on, after the
// steps that were seen in it.
func (l *layouter) expected(sp *span, seen []stepID, depth int) {
	tn := l.p.turns.at(l.p.items.at(sp.item).turn)
	if tn == nil {
		return
	}
	f := forecast{l: l, kind: tn.kind, span: *l.p.spans.at(sp.ordinal), used: map[stepID]int{}}
	pl := plan{}
	if l.s.steps.is(sp.step, stepRtSync) {
		pl = l.planOf(sp)
	}
	f.calls(sp.step, seen, pl, depth)
}

// expectedAfter lays out what comes when the turn itself is over.
func (l *layouter) expectedAfter(tn *turn, t *tree, depth int) {
	it := l.p.items.at(tn.item)
	f := forecast{l: l, kind: tn.kind, span: it.span, used: map[stepID]int{}}
	var seen []stepID
	for _, r := range t.roots {
		seen = append(seen, l.s.spans.at(t.nodes[r].span).step)
	}
	turn := l.s.steps.byName[string(stepTurn)]
	if !slices.Contains(seen, turn) {
		f.calls(turn, nil, plan{}, depth)
	}
	if len(seen) > 0 && l.s.steps.role(seen[len(seen)-1]) == roleAfter && l.s.steps.is(seen[len(seen)-1], stepCompleteWork) {
		return
	}
	f.calls(l.s.steps.byName[string(stepLoop)], seen, plan{}, depth)
}

// family is what a step calls in turns of this kind, or in others if it was
// never seen in one of these.
func (f *forecast) family(step stepID) *family {
	if fam := f.l.s.learnt.kinds[f.kind][step]; fam != nil {
		return fam
	}
	return f.l.s.learnt.kinds[turnCreate][step]
}

func (f *forecast) calls(step stepID, seen []stepID, pl plan, depth int) {
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
		started = started || f.l.s.steps.role(k.step) == roleStartOne
		f.one(k.step, depth)
	}
	start := f.l.s.steps.byName[string(stepStartOne)]
	if pl.known && pl.start && !started && !slices.Contains(seen, start) {
		f.one(start, depth)
	}
}

// planned corrects what is usual by what is planned.
func (f *forecast) planned(step stepID, pl plan, usual bool) bool {
	st := f.l.s.steps
	switch {
	case st.is(step, stepStartOne):
		return pl.start
	case st.is(step, stepSandbox):
		return pl.sandbox
	case st.is(step, "cri.PodSandboxStatus"), st.is(step, "rt.ips"), st.is(step, "rt.sandboxready"), st.is(step, stepKillPod):
		return usual && pl.sandbox
	}
	return usual
}

// one lays out one expected step with what is expected in it. Steps for a
// closer look, and those that share a row with others, have no row.
func (f *forecast) one(step stepID, depth int) {
	if f.used[step] >= 2 || depth > maxDepth {
		return // a step that calls itself
	}
	st := f.l.s.steps.at(step)
	n := f.used[step]
	f.used[step]++
	inner := depth
	if st.tier() == 1 && f.l.s.steps.role(step) != roleWork && st.name != string(stepStartContainer) {
		f.l.add(line{key: lineKey{kind: keyExpected, a: f.span, b: int(step)*4 + n}, kind: RowExpected, depth: depth, span: none, item: none, step: step})
		inner++
	}
	f.calls(step, nil, plan{}, inner)
}
