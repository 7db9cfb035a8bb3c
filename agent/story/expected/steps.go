package expected

import (
	"slices"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/outline"
	"github.com/podstep/podstep/probes"
)

// Step is a step that is expected.
type Step struct {
	Step history.StepID
	// Depth is the step's nesting among the expected steps, from 0.
	Depth int
	// Nth numbers the entries of the same step in one list, from 0.
	Nth int
}

// InCall lists the steps that usually come next in a call that goes on at a position, after the steps that were seen
// in it. The list is empty for a call in no turn.
func (u *Usual) InCall(p *outline.Pod, call *history.Span, seen []history.StepID, at int) []Step {
	t := p.TurnOf(call)
	if t == nil {
		return nil
	}
	pl := plan{}
	if u.h.Role(call.Step) == probes.RoleRuntime {
		pl = u.planOf(p, call, at)
	}
	f := forecast{u: u, kind: t.Kind}
	f.calls(call.Step, seen, pl, 0)
	return f.out
}

// AfterCalls lists the steps that usually come in a turn in which no call goes on, after the calls that were made in
// it.
func (u *Usual) AfterCalls(t *outline.Turn, seen []history.StepID) []Step {
	f := forecast{u: u, kind: t.Kind}
	turn := u.h.StepFor(probes.RoleTurn)
	if !slices.Contains(seen, turn) {
		f.calls(turn, nil, plan{}, 0)
	}
	if len(seen) == 0 || u.h.Role(seen[len(seen)-1]) != probes.RoleComplete {
		f.calls(u.h.StepFor(probes.RoleWorker), seen, plan{}, 0)
	}
	return f.out
}

// forecast is a list in the making.
type forecast struct {
	u    *Usual
	kind outline.Kind
	used map[history.StepID]int
	out  []Step
}

// calls lists the steps that a step usually calls after those that were seen.
func (f *forecast) calls(step history.StepID, seen []history.StepID, pl plan, depth int) {
	fam := f.u.family(f.kind, step)
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
		if !pl.comes(f.u.h.Step(k.step).Means().Planned, fam.likely(k)) {
			continue
		}
		started = started || f.u.h.Role(k.step) == probes.RoleContainer
		f.one(k.step, depth)
	}
	start := f.u.h.StepFor(probes.RoleContainer)
	if pl.known && pl.start && !started && !slices.Contains(seen, start) {
		f.one(start, depth)
	}
}

// maxDepth bounds the nesting, and maxTimes how often a step is listed, since some steps call themselves.
const maxDepth, maxTimes = 24, 2

// one lists one expected step with the steps that are expected in it. It does not list steps for a closer look, or
// those that share a row with others, but the steps in these.
func (f *forecast) one(step history.StepID, depth int) {
	n := f.used[step]
	if n >= maxTimes || depth > maxDepth {
		return
	}
	if f.used == nil {
		f.used = map[history.StepID]int{}
	}
	f.used[step]++
	st := f.u.h.Step(step)
	if st.Tier() == 1 && st.Means().Role != probes.RoleWork && !st.Means().Joins {
		f.out = append(f.out, Step{Step: step, Depth: depth, Nth: n})
		depth++
	}
	f.calls(step, nil, plan{}, depth)
}
