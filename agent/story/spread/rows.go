package spread

import (
	"cmp"
	"slices"
	"time"

	"github.com/podstep/podstep/agent/story/history"
)

// Row is what a spread says about one step.
type Row struct {
	Step history.StepID
	// Calls is how many calls have ended, and Errors how many of them failed. The durations are those of these calls; they
	// are zero if there are none.
	Calls, Errors      int
	P50, P90, P99, Max time.Duration
	Sum                time.Duration
	// PerMinute is how many calls ended in a minute, over the time that was seen. Share is Sum as a part of that time: how
	// many calls went on at a time, on average.
	PerMinute, Share float64
	// Worst is the call that took longest of those that have ended.
	Worst Call
	// Open is how many calls go on, and Longest the one that has gone on longest, without the time for which it was held.
	Open    int
	Longest Call
	// Heat is how many calls each bin of a heat line has.
	Heat [HeatBins]int
}

// Order is an order of rows.
type Order string

// The orders of rows, the largest first.
const (
	ByP99    Order = "p99"
	BySum    Order = "sum"
	ByCalls  Order = "count"
	ByMax    Order = "max"
	ByErrors Order = "errors"
)

// Orders are all orders. The first one is the usual one.
var Orders = []Order{ByP99, BySum, ByCalls, ByMax, ByErrors}

// Seen returns the time over which events were seen, up to a session time that is now.
func (s *Spread) Seen(now int64) time.Duration {
	if !s.any {
		return 0
	}
	return history.Since(s.From, max(s.To, now))
}

// Rows returns a row for each step of which a call has ended or goes on, in an order. now is the session time of the
// position.
func (s *Spread) Rows(h *history.History, now int64, order Order) []Row {
	var out []Row
	at := make([]int, max(h.Steps(), len(s.steps))) // place in out plus one, by step
	seen := s.Seen(now)
	for id, t := range s.steps {
		if t != nil {
			out = append(out, t.row(history.StepID(id), seen))
			at[id] = len(out)
		}
	}
	for _, ref := range s.open {
		if !goesOn(h, ref, s.At) {
			continue
		}
		sp := h.Span(ref)
		if at[sp.Step] == 0 {
			out = append(out, (*step)(nil).clone(nil).row(sp.Step, seen))
			at[sp.Step] = len(out)
		}
		r := &out[at[sp.Step]-1]
		r.Open++
		if took := h.Took(ref, s.At, max(now, s.To)); r.Longest.Span == history.None || took > r.Longest.Took {
			r.Longest = Call{sp.Pod, ref, took, sp.ID, sp.Start}
		}
	}
	slices.SortFunc(out, func(a, b Row) int { return cmp.Or(order.Compare(&a, &b), cmp.Compare(a.Step, b.Step)) })
	return out
}

// Compare compares two rows in an order. The rows may be of two agents.
func (o Order) Compare(a, b *Row) int {
	return cmp.Or(cmp.Compare(o.of(b), o.of(a)), cmp.Compare(b.Sum, a.Sum))
}

func (t *step) row(id history.StepID, seen time.Duration) Row {
	r := Row{
		Step: id, Calls: t.calls, Errors: t.errors, P50: t.quantile(0.5), P90: t.quantile(0.9), P99: t.quantile(0.99), Max: t.worst.Took,
		Sum: t.sum, Worst: t.worst, Longest: Call{Span: history.None}, Heat: t.heat,
	}
	if seen > 0 {
		r.PerMinute, r.Share = float64(t.calls)/seen.Minutes(), float64(t.sum)/float64(seen)
	}
	return r
}

// of returns the number by which a row stands in an order.
func (o Order) of(r *Row) int64 {
	switch o {
	case BySum:
		return int64(r.Sum)
	case ByCalls:
		return int64(r.Calls)
	case ByMax:
		return int64(r.Max)
	case ByErrors:
		return int64(r.Errors)
	}
	return int64(r.P99)
}
