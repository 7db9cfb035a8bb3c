package spread

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestQuantiles compares quantiles with those of the sorted durations.
func TestQuantiles(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, draw := range map[string]func() time.Duration{
		"any length": func() time.Duration { return time.Duration(math.Exp(r.Float64() * math.Log(math.MaxInt64/2))) },
		"near 40 ms": func() time.Duration { return time.Duration(40e6 + 1e6*r.NormFloat64()) },
		"two humps":  func() time.Duration { return []time.Duration{3000, 9e9}[r.IntN(2)] + time.Duration(r.IntN(500)) },
		"very short": func() time.Duration { return time.Duration(r.IntN(70)) },
		"the same":   func() time.Duration { return 1234567 },
		"the longest": func() time.Duration {
			return math.MaxInt64 - time.Duration(r.IntN(2))
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{1, 2, 3, 10, 99, 100, 101, 5000} {
				var s step
				var exact []time.Duration
				for range n {
					d := draw()
					exact = append(exact, d)
					s.add(Call{Took: d}, false)
				}
				slices.Sort(exact)
				for _, q := range []float64{0, 0.01, 0.5, 0.9, 0.99, 1} {
					want := exact[rank(q, n)-1]
					if got := s.quantile(q); math.Abs(float64(got-want)) > float64(want)*RelativeError {
						t.Errorf("of %d, quantile %v is %v, want %v", n, q, got, want)
					}
				}
				if len(s.times.bins) > 1888 {
					t.Errorf("%d bins", len(s.times.bins))
				}
			}
		})
	}
	var none step
	if got := none.quantile(0.5); got != 0 {
		t.Errorf("the median of no calls is %v", got)
	}
}

// TestBins: each bin follows the one before it, and its middle is in it.
func TestBins(t *testing.T) {
	for bin := range binOf(math.MaxInt64) + 1 {
		if got := binOf(middleOf(bin)); got != bin {
			t.Fatalf("the middle of bin %d is in bin %d", bin, got)
		}
	}
	if got := binOf(math.MaxInt64); got != 1887 {
		t.Errorf("the last bin is %d", got)
	}
}

func TestRank(t *testing.T) {
	for _, c := range []struct {
		q       float64
		n, want int
	}{{0.5, 1, 1}, {0.5, 2, 1}, {0.5, 3, 2}, {0.99, 100, 99}, {0.99, 101, 100}, {0.99, 10, 10}, {0.9, 10, 9}, {0, 5, 1}, {1, 5, 5}} {
		if got := rank(c.q, c.n); got != c.want {
			t.Errorf("quantile %v of %d is number %d, want %d", c.q, c.n, got, c.want)
		}
	}
}

func TestHeatBin(t *testing.T) {
	for d, want := range map[time.Duration]int{
		0: 0, 9999: 0, 10_000: 1, 31_623: 2, time.Millisecond - 1: 4, time.Millisecond: 5, time.Second: 11, 1000 * time.Second: 17, time.Hour: 17,
	} {
		if got := HeatBin(d); got != want {
			t.Errorf("%v is in bin %d, want %d", d, got, want)
		}
	}
}

// TestHeatLine: a single call shows beside many others, and the scale stands at its bins.
func TestHeatLine(t *testing.T) {
	heat := [HeatBins]int{1: 1, 2: 1000, 5: 10}
	if got := HeatLine(heat, []string{"1", "2", "3", "4"}); got != " 14  2            " {
		t.Errorf("%q", got)
	}
	if got := HeatLine([HeatBins]int{3: 1}, []string{".", "#"}); got != "   #              " {
		t.Errorf("%q", got)
	}
	if got := HeatLine([HeatBins]int{}, []string{"."}); strings.TrimSpace(got) != "" {
		t.Errorf("%q", got)
	}
	for text, d := range map[string]time.Duration{"1 ms": time.Millisecond, "1 s": time.Second} {
		if at := strings.Index(HeatScale, text); at != HeatBin(d) {
			t.Errorf("%s stands at %d, and its bin is %d", text, at, HeatBin(d))
		}
	}
	if len(HeatScale) != HeatBins {
		t.Errorf("the scale has %d places", len(HeatScale))
	}
}
