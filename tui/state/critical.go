package state

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/podstep/podstep/agent/story/outline"
)

func itoa(n int) string { return strconv.Itoa(n) }

// criticalCache keeps the path of the pod that was asked for last.
type criticalCache struct {
	pod, at int
	items   int
	spans   map[int]bool
}

// criticalItems bounds how many calls at the outermost level are looked at.
const criticalItems = 2000

// criticalPath is the chain of calls that a pod's creation took its time by:
// from its end back, always the call that ended last before the next one of the
// chain began, and inside each the same. Had one of them been quicker, the pod
// would have been ready sooner.
func (s *State) criticalPath(v *view) map[int]bool {
	p, c := s.of(s.pod), &s.time.critical
	if c.spans != nil && c.pod == s.pod && c.at == v.at && c.items == p.Spans.End() {
		return c.spans
	}
	c.pod, c.at, c.items, c.spans = s.pod, v.at, p.Spans.End(), map[int]bool{}
	end := v.now
	for _, m := range p.Marks {
		if m.Chapter > outline.Creation && m.Pos < v.at {
			end = min(end, m.At)
			break
		}
	}
	kids := map[int][]int{}
	var roots []int
	for i := p.Spans.First; i < p.Spans.End() && len(roots) < criticalItems; i++ {
		ref := *p.Spans.At(i)
		sp := s.h.Span(ref)
		switch {
		case sp == nil || sp.Enter >= v.at || s.outlines.IsLife(sp.Step):
		case sp.Start > end:
			i = p.Spans.End()
		default:
			if up := s.h.Span(sp.Parent); up == nil || s.outlines.IsLife(up.Step) {
				roots = append(roots, ref)
			} else {
				kids[sp.Parent] = append(kids[sp.Parent], ref)
			}
		}
	}
	w := pathWalk{s: s, v: v, kids: kids, out: c.spans}
	w.chain(roots, end, 0)
	return c.spans
}

type pathWalk struct {
	s    *State
	v    *view
	kids map[int][]int
	out  map[int]bool
}

// chain walks back through calls from a time: the one that ended last counts,
// then the one that ended last before that one began.
func (w *pathWalk) chain(calls []int, until int64, depth int) {
	if depth > maxDepth || len(calls) == 0 {
		return
	}
	ends := make([]int64, len(calls))
	order := make([]int, len(calls))
	for i, ref := range calls {
		sp := w.s.h.Span(ref)
		ends[i], order[i] = sp.Start+int64(w.s.callTook(sp, w.v)), i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(ends[b], ends[a]) })
	if i := w.covering(calls, ends, until); i != none {
		w.take(calls[i], until, depth)
		until = w.s.h.Span(calls[i]).Start
	}
	for _, i := range order {
		if sp := w.s.h.Span(calls[i]); ends[i] <= until && sp.Start < until {
			w.take(calls[i], ends[i], depth)
			until = sp.Start
		}
	}
}

func (w *pathWalk) take(ref int, until int64, depth int) {
	w.out[ref] = true
	w.chain(w.kids[ref], until, depth+1)
}

// covering is the call that was going on at the very end: the worker's, if it
// is one of several.
func (w *pathWalk) covering(calls []int, ends []int64, until int64) int {
	found := none
	for i, ref := range calls {
		if sp := w.s.h.Span(ref); sp.Start < until && ends[i] > until && (found == none || sp.Worker) {
			found = i
		}
	}
	return found
}
