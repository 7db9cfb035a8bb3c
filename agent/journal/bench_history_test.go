package journal

import (
	"fmt"
	"sort"
	"sync/atomic"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
)

// BenchmarkHistory measures the longest pause of live delivery while a client is given a history of 500,000 events. It
// also measures the pause if the whole history is made at once while nothing is handed on, as it once was.
func BenchmarkHistory(b *testing.B) {
	const events, pods = 500_000, 200
	r := newRig(b, Options{QueueEvents: 1 << 20, RecorderBytes: 1 << 30})
	table := make([]*Pod, pods)
	for i := range table {
		table[i] = r.pod(fmt.Sprint(i))
	}
	for i := range events {
		r.Put(Event{Kind: agentpb.Kind_ENTER, Pod: table[i*7%pods], Step: 5, Sync: uint32(i / pods / 100), Fields: []wire.Field{wire.Text("updateType", "sync")}})
	}
	r.settle()
	for range b.N {
		lazy := longestPause(r, func() (n int) {
			w := r.watcher(Wanted{Node: true, History: true})
			defer w.Close()
			for out := w.history.read(); len(out) > 0; out = w.history.read() {
				n += len(out)
			}
			return n
		}, events)
		whole := longestPause(r, func() int {
			r.out.Lock()
			defer r.out.Unlock()
			return len(r.recorder.sorted())
		}, events)
		b.ReportMetric(float64(lazy.Microseconds())/1000, "ms-pause")
		b.ReportMetric(float64(whole.Microseconds())/1000, "ms-pause-before")
		b.ReportMetric(float64(lazy)/float64(whole), "ratio")
	}
	b.ReportMetric(0, "ns/op")
}

// longestPause returns the longest time between two events at a client that reads them as they come, while read is
// called.
func longestPause(r *rig, read func() int, atLeast int) time.Duration {
	r.t.Helper()
	live := r.watcher(Wanted{Node: true, Live: true})
	defer live.Close()
	var done atomic.Bool
	go func() {
		for !done.Load() {
			r.Put(Event{Kind: agentpb.Kind_NOTE, Err: "tick"})
			time.Sleep(time.Millisecond)
		}
	}()
	longest := make(chan time.Duration)
	go func() {
		var worst time.Duration
		last := time.Now()
		for !done.Load() {
			_, _ = live.next(r.t.Context())
			now := time.Now()
			worst, last = max(worst, now.Sub(last)), now
		}
		longest <- worst
	}()
	if n := read(); n < atLeast {
		r.t.Errorf("the history has %d events", n)
	}
	done.Store(true)
	return <-longest
}

// sorted makes a history in the former way.
func (r *recorder) sorted() (out []kept) {
	for _, s := range r.stories {
		reader := storyReader{pod: s.pod, parts: s.parts, last: s.parts[len(s.parts)-1].data}
		for reader.advance(&history{want: &Wanted{}}) {
			out = append(out, kept{seq: reader.key, pod: s.pod, data: reader.next})
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].seq < out[j].seq })
	return out
}
