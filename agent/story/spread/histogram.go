package spread

import (
	"math"
	"math/bits"
	"slices"
	"time"
)

// subBits sets how fine a histogram is: each power of two has 1<<subBits bins, so that a bin is at most a 32nd as wide
// as its durations are long.
const subBits = 5

// RelativeError bounds how far a quantile is from the exact one, as a part of it: half the width of a bin.
const RelativeError = 1.0 / (2 << subBits)

// histogram counts durations in bins that grow with the durations. It has only the bins between its shortest and its
// longest duration; there are at most 1888 bins in all.
type histogram struct {
	first int      // the number of bins[0]
	bins  []uint32 // how many durations each bin has
}

// binOf returns the number of the bin of a duration in nanoseconds, which is not negative. Below 1<<subBits each
// nanosecond has a bin.
func binOf(ns int64) int {
	shift := max(0, bits.Len64(uint64(ns))-subBits-1)
	return shift<<subBits + int(ns>>shift)
}

// middleOf returns the duration in the middle of a bin.
func middleOf(bin int) int64 {
	if bin < 2<<subBits {
		return int64(bin)
	}
	shift := bin>>subBits - 1
	return int64(bin-shift<<subBits)<<shift + int64(1)<<(shift-1)
}

// add counts a duration.
func (h *histogram) add(d time.Duration) {
	bin := binOf(int64(max(0, d)))
	switch {
	case len(h.bins) == 0:
		h.first, h.bins = bin, append(h.bins, 0)
	case bin < h.first:
		h.bins = slices.Insert(h.bins, 0, make([]uint32, h.first-bin)...)
		h.first = bin
	case bin >= h.first+len(h.bins):
		h.bins = append(h.bins, make([]uint32, bin-h.first-len(h.bins)+1)...)
	}
	if n := &h.bins[bin-h.first]; *n < math.MaxUint32 {
		*n++
	}
}

// at returns the duration of rank k, counted from 1 at the shortest.
func (h *histogram) at(k int) time.Duration {
	for i, n := range h.bins {
		if k -= int(n); k <= 0 {
			return time.Duration(middleOf(h.first + i))
		}
	}
	return 0
}

// rank returns which of n durations in order the quantile q is: the first that at least that part of them does not
// exceed.
func rank(q float64, n int) int { return max(1, min(n, int(math.Ceil(q*float64(n)-1e-9)))) }
