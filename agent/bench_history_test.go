package agent

import (
	"sort"
	"sync/atomic"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
)

// BenchmarkHistory measures the longest pause of live delivery while a client is given a history of 500,000 events. It
// also measures the pause if the whole history is made at once while nothing is handed on, as it once was.
func BenchmarkHistory(b *testing.B) {
	const events, pods = 500_000, 200
	a, err := New(probes.MustLoad(), Options{Probes: seesAll(), QueueEvents: 1 << 20, RecorderBytes: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(a.Close)
	table := make([]*pod, pods)
	for i := range table {
		table[i] = a.pods.UID(itoa(uint32(i)))
	}
	for i := range events {
		a.journal.put(event{kind: agentpb.Kind_ENTER, pod: table[i*7%pods], step: 5, sync: uint32(i / pods / 100), fields: []field{text("updateType", "sync")}})
	}
	a.journal.drained()
	for range b.N {
		lazy := longestPause(b, a, func(w *watcher) (n int) {
			if err := a.journal.watch(w, true); err != nil {
				b.Fatal(err)
			}
			defer a.journal.unwatch(w)
			for out := w.history.read(); len(out) > 0; out = w.history.read() {
				n += len(out)
			}
			return n
		}, events)
		whole := longestPause(b, a, func(w *watcher) int {
			a.journal.out.Lock()
			defer a.journal.out.Unlock()
			return len(a.journal.recorder.sorted(w))
		}, events)
		b.ReportMetric(float64(lazy.Microseconds())/1000, "ms-pause")
		b.ReportMetric(float64(whole.Microseconds())/1000, "ms-pause-before")
		b.ReportMetric(float64(lazy)/float64(whole), "ratio")
	}
	b.ReportMetric(0, "ns/op")
}

// longestPause returns the longest time between two events at a client that reads them as they come, while read is
// called.
func longestPause(b *testing.B, a *Agent, read func(*watcher) int, atLeast int) time.Duration {
	b.Helper()
	live, err := a.newWatcher(&agentpb.WatchRequest{Node: true})
	if err != nil {
		b.Fatal(err)
	}
	if err := a.journal.watch(live, false); err != nil {
		b.Fatal(err)
	}
	defer a.journal.unwatch(live)
	var done atomic.Bool
	go func() {
		for !done.Load() {
			a.journal.put(event{kind: agentpb.Kind_NOTE, err: "tick"})
			time.Sleep(time.Millisecond)
		}
	}()
	longest := make(chan time.Duration)
	go func() {
		var worst time.Duration
		last := time.Now()
		for !done.Load() {
			_, _ = live.next(b.Context())
			now := time.Now()
			worst, last = max(worst, now.Sub(last)), now
		}
		longest <- worst
	}()
	w, err := a.newWatcher(&agentpb.WatchRequest{Node: true})
	if err != nil {
		b.Fatal(err)
	}
	if n := read(w); n < atLeast {
		b.Errorf("the history has %d events", n)
	}
	done.Store(true)
	return <-longest
}

// sorted makes a history in the former way.
func (r *recorder) sorted(w *watcher) (out []kept) {
	for _, s := range r.stories {
		reader := storyReader{pod: s.pod, parts: s.parts, last: s.parts[len(s.parts)-1].data}
		for reader.advance(&history{}) {
			out = append(out, kept{seq: reader.key, pod: s.pod, data: reader.next})
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].seq < out[j].seq })
	return out
}
