package state

import (
	"cmp"
	"slices"
	"strconv"
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
	p, c := s.pods[s.pod], &s.time.critical
	if c.spans != nil && c.pod == s.pod && c.at == v.at && c.items == p.spans.end() {
		return c.spans
	}
	c.pod, c.at, c.items, c.spans = s.pod, v.at, p.spans.end(), map[int]bool{}
	end := v.now
	for _, m := range p.marks {
		if m.chapter > creation && m.pos < v.at {
			end = min(end, m.at)
			break
		}
	}
	kids := map[int][]int{}
	var roots []int
	for i := p.spans.first; i < p.spans.end() && len(roots) < criticalItems; i++ {
		ref := *p.spans.at(i)
		sp := s.spans.at(ref)
		switch {
		case sp == nil || sp.enter >= v.at || s.isLife(sp.step):
		case sp.start > end:
			i = p.spans.end()
		default:
			if up := s.spans.at(sp.parent); up == nil || s.isLife(up.step) {
				roots = append(roots, ref)
			} else {
				kids[sp.parent] = append(kids[sp.parent], ref)
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
		sp := w.s.spans.at(ref)
		ends[i], order[i] = sp.start+int64(w.s.callTook(sp, w.v)), i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(ends[b], ends[a]) })
	if i := w.covering(calls, ends, until); i != none {
		w.take(calls[i], until, depth)
		until = w.s.spans.at(calls[i]).start
	}
	for _, i := range order {
		if sp := w.s.spans.at(calls[i]); ends[i] <= until && sp.start < until {
			w.take(calls[i], ends[i], depth)
			until = sp.start
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
		if sp := w.s.spans.at(ref); sp.start < until && ends[i] > until && (found == none || sp.worker) {
			found = i
		}
	}
	return found
}
