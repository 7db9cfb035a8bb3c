package state

import (
	"cmp"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/trace/tracetest"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// many returns a node's stream of n events. Each replica has 26 pods of its own.
func many(tb testing.TB, n, replicas int) (*agentpb.InfoResponse, []*agentpb.Batch) {
	c, err := tracetest.NewCrowd("../../agent/trace/testdata/node.podstep", replicas, time.Now(), 1)
	if err != nil {
		tb.Fatal(err)
	}
	const size = 100
	var out []*agentpb.Batch
	for ; n > 0; n -= size {
		b, err := c.Batch(min(n, size))
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, b)
	}
	return c.Info, out
}

func load(info *agentpb.InfoResponse, batches []*agentpb.Batch) *State {
	s := New(info, probes.MustLoad(), words.English)
	for _, b := range batches {
		s.Add(b)
	}
	return s
}

func BenchmarkAdd(b *testing.B) {
	info, batches := many(b, 1_000_000, 20)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b.ResetTimer()
	var s *State
	for range b.N {
		s = load(info, batches)
	}
	b.StopTimer()
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(s.Events())*float64(b.N)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB")
	b.ReportMetric(float64(s.h.Bytes())/(1<<20), "MiB-of-events")
	runtime.KeepAlive(s)
	runtime.KeepAlive(batches)
}

// BenchmarkScreen measures a frame after 100 new events, which is about one frame at 10,000 events a second. It does
// so with few events before them, and with many.
func BenchmarkScreen(b *testing.B) {
	for _, n := range []int{1_000, 100_000, 1_000_000} {
		info, batches := many(b, n+200_000, 20)
		for _, main := range []screen.Main{screen.MainStory, screen.MainTimeline, screen.MainEvents, screen.MainTop} {
			b.Run(fmt.Sprintf("events=%d/main=%s", n, cmp.Or(main, "pipeline")), func(b *testing.B) {
				s := New(info, probes.MustLoad(), words.English)
				i := 0
				for s.Events() < n {
					s.Add(batches[i])
					i++
				}
				s.SelectPodNamed("default", "web0")
				s.SetMain(main)
				rest := batches[i:]
				b.ResetTimer()
				for k := range b.N {
					b.StopTimer()
					s.Add(rest[k%len(rest)])
					s.Tick(time.Unix(0, s.h.Origin()+s.lives.Now().Time))
					b.StartTimer()
					s.Screen(screen.Sizes{Pods: 30, Main: 30, Detail: 10, Width: 80})
				}
			})
		}
	}
}

func BenchmarkSeek(b *testing.B) {
	info, batches := many(b, 1_000_000, 20)
	s := load(info, batches)
	s.SetLink(screen.LinkReplay, "replay")
	s.SelectPodNamed("default", "web0")
	at := 0
	b.ResetTimer()
	for range b.N {
		at = (at + 314_159) % s.Events()
		s.SeekEvent(at)
		s.Screen(screen.Sizes{Pods: 30, Main: 30, Detail: 10, Width: 80})
	}
}
