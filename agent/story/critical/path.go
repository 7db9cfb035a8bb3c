// Package critical finds the critical path of a pod's creation: the calls that determined how long it took. Had one
// of these been quicker, the pod would have been ready sooner.
package critical

import (
	"cmp"
	"slices"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/outline"
)

// maxCalls bounds how many calls at the outermost level are looked at, maxDepth
// how deep calls are nested.
const maxCalls, maxDepth = 2000, 24

// Path returns the chain of calls from the end of a pod's creation back. Each is the call that ended last before the
// next one of the chain began; the calls inside each form a chain in the same way. Path looks as of a position, and
// now is the time there: a creation that goes on ends now. Keys are references of spans.
func Path(h *history.History, o *outline.Outlines, p *outline.Pod, at int, now int64) map[int]bool {
	end := End(p, at, now)
	w := walk{h: h, at: at, now: now, kids: map[int][]int{}, out: map[int]bool{}}
	var roots []int
	for i := p.Spans.First; i < p.Spans.End() && len(roots) < maxCalls; i++ {
		ref := *p.Spans.At(i)
		sp := h.Span(ref)
		if sp == nil || sp.Enter >= at || o.IsLife(sp.Step) {
			continue
		}
		if sp.Start > end {
			break
		}
		if up := h.Span(sp.Parent); up == nil || o.IsLife(up.Step) {
			roots = append(roots, ref)
		} else {
			w.kids[sp.Parent] = append(w.kids[sp.Parent], ref)
		}
	}
	w.chain(roots, end, 0)
	return w.out
}

// End returns when the chapter after creation began, as of a position.
func End(p *outline.Pod, at int, now int64) int64 {
	for _, m := range p.Marks {
		if m.Chapter > outline.Creation && m.Pos < at {
			return min(now, m.At)
		}
	}
	return now
}

type walk struct {
	h    *history.History
	at   int
	now  int64
	kids map[int][]int
	out  map[int]bool
}

// chain walks back through calls from a time: it takes the call that ended last, then the one that ended last before
// that one began.
func (w *walk) chain(calls []int, until int64, depth int) {
	if depth > maxDepth || len(calls) == 0 {
		return
	}
	ends := make([]int64, len(calls))
	order := make([]int, len(calls))
	for i, ref := range calls {
		sp := w.h.Span(ref)
		ends[i], order[i] = sp.Start+int64(sp.Took(w.at, w.now)), i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(ends[b], ends[a]) })
	if i := w.covering(calls, ends, until); i != history.None {
		w.take(calls[i], until, depth)
		until = w.h.Span(calls[i]).Start
	}
	for _, i := range order {
		if sp := w.h.Span(calls[i]); ends[i] <= until && sp.Start < until {
			w.take(calls[i], ends[i], depth)
			until = sp.Start
		}
	}
}

func (w *walk) take(ref int, until int64, depth int) {
	w.out[ref] = true
	w.chain(w.kids[ref], until, depth+1)
}

// covering returns the call that was going on at the very end: the worker's, if there are several.
func (w *walk) covering(calls []int, ends []int64, until int64) int {
	found := history.None
	for i, ref := range calls {
		if sp := w.h.Span(ref); sp.Start < until && ends[i] > until && (found == history.None || sp.Worker) {
			found = i
		}
	}
	return found
}
