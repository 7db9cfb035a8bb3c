package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/podstep/podstep/probes/cri/relayproc"
)

// histogram adds up histograms of relay processes.
type histogram struct {
	bounds []time.Duration
	counts []uint64 // the last: longer than all bounds
	sum    time.Duration
}

func newHistogram(bounds []time.Duration) histogram {
	return histogram{bounds: bounds, counts: make([]uint64, len(bounds)+1)}
}

// add adds the counts of another histogram. It leaves out one with other bounds, which only a relay process of
// another podstep's version can have.
func (h *histogram) add(more *relayproc.Histogram) {
	if len(more.Counts) != len(h.counts) {
		return
	}
	for i, n := range more.Counts {
		h.counts[i] += n
	}
	h.sum += more.Sum
}

// collect sends the histogram in Prometheus' form: each bucket includes the counts of the smaller ones.
func (h *histogram) collect(to chan<- prometheus.Metric, d *prometheus.Desc, labels ...string) {
	buckets, n := make(map[float64]uint64, len(h.bounds)), uint64(0)
	for i, bound := range h.bounds {
		n += h.counts[i]
		buckets[bound.Seconds()] = n
	}
	n += h.counts[len(h.bounds)]
	to <- prometheus.MustNewConstHistogram(d, n, h.sum.Seconds(), buckets, labels...)
}
