package state

import (
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
)

// many makes a stream of n events by telling the recording again and again, of
// groups of pods in turn, each time with later times and other spans.
func many(tb testing.TB, n, groups int) (*agentpb.InfoResponse, []*agentpb.Batch) {
	r := record(tb)
	var out []*agentpb.Batch
	var seq, spans, lastSpan uint64
	var shift, lastMono int64
	for round := 0; n > 0; round++ {
		group := uint32(round % groups)
		for _, b := range r.batches {
			nb := &agentpb.Batch{}
			for _, p := range b.Pods {
				q := proto.CloneOf(p)
				q.Id += group * 100
				q.Name, q.Uid = q.Name+strconv.Itoa(int(group)), q.Uid+strconv.Itoa(int(group))
				nb.Pods = append(nb.Pods, q)
			}
			for _, raw := range b.Events {
				var e agentpb.Event
				if err := proto.Unmarshal(raw, &e); err != nil {
					tb.Fatal(err)
				}
				seq++
				e.Seq, e.Mono, e.Time = seq, e.Mono+shift, e.Time+shift
				lastMono = max(lastMono, e.Mono)
				if e.Pod != 0 {
					e.Pod += group * 100
				}
				if e.Span != 0 {
					e.Span += spans
				}
				if e.Parent != 0 {
					e.Parent += spans
				}
				lastSpan = max(lastSpan, e.Span)
				raw, err := proto.Marshal(&e)
				if err != nil {
					tb.Fatal(err)
				}
				nb.Events = append(nb.Events, raw)
				n--
			}
			out = append(out, nb)
			if n <= 0 {
				break
			}
		}
		shift, spans = lastMono, lastSpan
	}
	return r.info, out
}

func load(info *agentpb.InfoResponse, batches []*agentpb.Batch) *State {
	s := New(info, probes.MustLoad(), English)
	for _, b := range batches {
		s.Add(b)
	}
	return s
}

func BenchmarkAdd(b *testing.B) {
	info, batches := many(b, 1_000_000, 62)
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
	b.ReportMetric(float64(s.arena.bytes)/(1<<20), "MiB-of-events")
	runtime.KeepAlive(s)
	runtime.KeepAlive(batches)
}

// BenchmarkScreen draws what follows 0 to 99 new events: one frame at 10,000
// events a second, with few events behind it, and with many.
func BenchmarkScreen(b *testing.B) {
	for _, n := range []int{1_000, 100_000, 1_000_000} {
		info, batches := many(b, n+200_000, 62)
		for _, main := range []Main{MainStory, MainTimeline, MainEvents} {
			b.Run(fmt.Sprintf("events=%d/main=%d", n, main), func(b *testing.B) {
				s := New(info, probes.MustLoad(), English)
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
					s.Tick(time.Unix(0, s.origin+s.now.time))
					b.StartTimer()
					s.Screen(Sizes{Pods: 30, Main: 30, Detail: 10, Width: 80})
				}
			})
		}
	}
}

func BenchmarkSeek(b *testing.B) {
	info, batches := many(b, 1_000_000, 62)
	s := load(info, batches)
	s.SetLink(LinkReplay, "replay")
	s.SelectPodNamed("default", "web0")
	at := 0
	b.ResetTimer()
	for range b.N {
		at = (at + 314_159) % s.Events()
		s.SeekEvent(at)
		s.Screen(Sizes{Pods: 30, Main: 30, Detail: 10, Width: 80})
	}
}
