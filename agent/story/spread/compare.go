package spread

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/podstep/podstep/agent/story/history"
)

// MinCalls is how many calls of a step both spreads must have before their medians are compared, and MinTail before
// their 99th percentiles are.
const (
	MinCalls = 20
	MinTail  = 100
)

// Difference is how the durations of a step differ from those in a baseline.
type Difference struct {
	Before, After Kept
	// P50 and P99 are how many times as long the step takes now: 1 is as long as before. P99 is zero if there are too few
	// calls.
	P50, P99 float64
}

// Differences is a spread compared with a baseline.
type Differences struct {
	// Rows are the steps with enough calls, those that differ most first.
	Rows []Difference
	// Few are the steps that both have, and of which one has too few calls. Gone are those that only the baseline has, New
	// those that it has not. All are names, in order.
	Few, Gone, New []string
}

// Against compares rows with a baseline.
func Against(b *Baseline, h *history.History, rows []Row) *Differences {
	before := map[string]*Kept{}
	for i := range b.Steps {
		before[b.Steps[i].Step] = &b.Steps[i]
	}
	out := &Differences{}
	for i := range rows {
		if rows[i].Calls == 0 {
			continue
		}
		after := rows[i].Kept(h)
		was := before[after.Step]
		delete(before, after.Step)
		switch {
		case was == nil:
			out.New = append(out.New, after.Step)
		case min(was.Calls, after.Calls) < MinCalls:
			out.Few = append(out.Few, after.Step)
		default:
			d := Difference{Before: *was, After: after, P50: times(was.P50, after.P50)}
			if min(was.Calls, after.Calls) >= MinTail {
				d.P99 = times(was.P99, after.P99)
			}
			out.Rows = append(out.Rows, d)
		}
	}
	for name := range before {
		out.Gone = append(out.Gone, name)
	}
	slices.Sort(out.Few)
	slices.Sort(out.New)
	slices.Sort(out.Gone)
	slices.SortFunc(out.Rows, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(b.size(), a.size()), cmp.Compare(a.After.Step, b.After.Step))
	})
	return out
}

// shortest is what a duration below it counts as in a comparison: clocks and probes are not finer.
const shortest = time.Microsecond

func times(before, after time.Duration) float64 {
	return float64(max(after, shortest)) / float64(max(before, shortest))
}

// size returns how large a difference is, in whichever direction.
func (d *Difference) size() float64 {
	size := math.Abs(math.Log(d.P50))
	if d.P99 > 0 {
		size = max(size, math.Abs(math.Log(d.P99)))
	}
	return size
}

// Same reports whether a ratio of durations is so near to 1 that the bins alone can account for it.
func Same(times float64) bool { return math.Abs(math.Log(times)) < 2*RelativeError }
