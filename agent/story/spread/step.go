package spread

import (
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/story/history"
)

// HeatBins is how many bins a heat line has. The first is for what took less than 10 µs, the last for 1000 s and more.
// Between them each power of ten has two bins: from 10 µs to 31.6 µs, to 100 µs, and so on.
const HeatBins = 18

// HeatEdges are the durations at which the second bin of a heat line and all later ones begin.
var HeatEdges = [HeatBins - 1]time.Duration{
	10_000, 31_623, 100_000, 316_228, 1_000_000, 3_162_278, 10_000_000, 31_622_777, 100_000_000, 316_227_766, 1_000_000_000,
	3_162_277_660, 10_000_000_000, 31_622_776_602, 100_000_000_000, 316_227_766_017, 1_000_000_000_000,
}

// HeatBin returns the bin of a heat line to which a duration belongs.
func HeatBin(d time.Duration) int {
	return sort.Search(len(HeatEdges), func(i int) bool { return d < HeatEdges[i] })
}

// Call is one call of a step, for going to it.
type Call struct {
	Pod  int // place in the history
	Span int // reference in the history, which may have forgotten the call; None: there is no such call
	Took time.Duration
	// ID is the agent's number for the call, plus that of its epoch, and Start the session time at which it began. They are
	// known even if the history has forgotten the call.
	ID    uint64
	Start int64
}

// step has the calls of one step that have ended.
type step struct {
	owner         *owner // of the spread that may change it; other spreads have the same step and only read it
	calls, errors int
	sum           time.Duration
	least         time.Duration
	worst         Call
	heat          [HeatBins]int
	times         histogram
}

// owner tells spreads apart that have steps in common.
type owner struct{ _ byte }

func (t *step) add(c Call, failed bool) {
	if t.calls == 0 || c.Took > t.worst.Took {
		t.worst = c
	}
	if t.calls == 0 || c.Took < t.least {
		t.least = c.Took
	}
	t.calls++
	if failed {
		t.errors++
	}
	t.sum += c.Took
	t.heat[HeatBin(c.Took)]++
	t.times.add(c.Took)
}

// quantile returns the duration that a part q of the calls did not exceed. It lies between the shortest and the longest.
func (t *step) quantile(q float64) time.Duration {
	switch k := rank(q, t.calls); {
	case t.calls == 0:
		return 0
	case k == t.calls:
		return t.worst.Took
	case k == 1:
		return t.least
	default:
		return max(t.least, min(t.times.at(k), t.worst.Took))
	}
}

func (t *step) clone(o *owner) *step {
	if t == nil {
		return &step{owner: o, worst: Call{Span: history.None}}
	}
	out := *t
	out.owner, out.times.bins = o, slices.Clone(t.times.bins)
	return &out
}

// HeatLine returns a heat line as text: for each bin a blank if it has no call, else one of levels, of which the first is
// for the fewest calls. Levels follow the logarithm of the number, so that a single slow call can be seen beside
// thousands of quick ones.
func HeatLine(heat [HeatBins]int, levels []string) string {
	most := math.Log1p(float64(slices.Max(heat[:])))
	var b strings.Builder
	for _, n := range heat {
		if n <= 0 {
			b.WriteByte(' ')
			continue
		}
		b.WriteString(levels[int(math.Round(math.Log1p(float64(n))/most*float64(len(levels)-1)))])
	}
	return b.String()
}

// The levels of heat lines: blocks, and signs for terminals and files that have only ASCII.
var (
	HeatBlocks = []string{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"}
	HeatSigns  = []string{".", ":", "-", "=", "+", "*", "%", "#"}
)

// HeatScale is the scale above a heat line: a millisecond and a second stand where their bins begin.
const HeatScale = "     1 ms  1 s    "
