//go:build bench

package past

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/trace"
	"github.com/podstep/podstep/agent/wire"
)

// realNode is two minutes of a real node: pods that start, crash, cannot pull their image, are probed, scaled and deleted.
const realNode = "../testdata/node.podstep"

// player is a tap that plays the recording again and again, with other pods, calls and times each time.
type player struct {
	info    *agentpb.InfoResponse
	once    []*agentpb.Batch
	last    wire.Header // the highest numbers of one round
	pods    int
	took    time.Duration
	rounds  int
	most    int
	at      int
	written uint64
	done    chan struct{}
}

func newPlayer(b *testing.B, rounds int) *player {
	b.Helper()
	r, err := trace.Open(realNode)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	p := &player{info: r.Header().Info, most: rounds, done: make(chan struct{})}
	var first int64
	for {
		batch, err := r.Next()
		if errors.Is(err, io.EOF) {
			p.took = time.Duration(p.last.Mono - first)
			return p
		}
		if err != nil {
			b.Fatal(err)
		}
		p.pods += len(batch.Pods)
		for i, raw := range batch.Events {
			h, err := wire.ReadHeader(raw)
			if err != nil {
				b.Fatal(err)
			}
			if first == 0 {
				first = h.Mono
			}
			p.last.Seq++
			h.Seq = p.last.Seq // numbers without gaps
			batch.Events[i] = encode(&h, raw)
			p.last.Mono, p.last.Span, p.last.Pod = max(p.last.Mono, h.Mono), max(p.last.Span, h.Span), max(p.last.Pod, h.Pod)
		}
		p.once = append(p.once, batch)
	}
}

func (p *player) Info() *agentpb.InfoResponse { return p.info }
func (p *player) Began() uint64               { return p.written }
func (p *player) Carried() *agentpb.Batch     { return nil }
func (p *player) Rest(uint64) *agentpb.Batch  { return nil }
func (p *player) Close()                      {}
func (p *player) tap(int) (Tap, error)        { return p, nil }
func (p *player) events() uint64              { return uint64(p.rounds) * p.last.Seq }

func (p *player) Next(ctx context.Context) (*agentpb.Batch, error) {
	if p.at == len(p.once) {
		p.at = 0
		p.rounds++
	}
	if p.rounds == p.most {
		if p.at == 0 {
			p.at = -1
			close(p.done)
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	in := p.once[p.at]
	p.at++
	out, n := &agentpb.Batch{}, uint64(p.rounds)
	for _, pod := range in.Pods {
		out.Pods = append(out.Pods, &agentpb.Pod{Id: pod.Id + uint32(n)*p.last.Pod, Namespace: pod.Namespace, Name: pod.Name, Uid: pod.Uid + time.Duration(n).String()})
	}
	for _, raw := range in.Events {
		h, _ := wire.ReadHeader(raw)
		h.Seq, h.Mono, h.Time = h.Seq+n*p.last.Seq, h.Mono+int64(n)*p.last.Mono, h.Time+int64(n)*p.last.Mono
		if h.Span != 0 {
			h.Span += n * p.last.Span
		}
		if h.Parent != 0 {
			h.Parent += n * p.last.Span
		}
		if h.Pod != 0 {
			h.Pod += uint32(n) * p.last.Pod
		}
		out.Events = append(out.Events, encode(&h, raw))
		p.written = h.Seq
	}
	return out, nil
}

// processor returns the processor time that this process has used.
func processor() time.Duration {
	var use unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &use)
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// BenchmarkRecord measures what it costs to record the events of a real node: the processor's time, without that of
// making the events anew, and the bytes on the disk.
func BenchmarkRecord(b *testing.B) {
	const rounds = 40
	idle := newPlayer(b, rounds)
	before := processor()
	for idle.rounds < rounds {
		ctx, cancel := context.WithCancel(b.Context())
		if idle.at == len(idle.once) && idle.rounds == rounds-1 {
			cancel()
		}
		_, _ = idle.Next(ctx)
		cancel()
	}
	making := processor() - before
	for range b.N {
		p := newPlayer(b, rounds)
		dir := b.TempDir()
		before = processor()
		r, err := Start(Options{Dir: dir, Keep: DefaultKeep, Tap: p.tap, Print: func(line string) { b.Log(line) }})
		if err != nil {
			b.Fatal(err)
		}
		<-p.done
		if err := r.Stop(context.Background()); err != nil {
			b.Fatal(err)
		}
		took := processor() - before - making
		events := float64(p.events())
		node := events / (float64(rounds) * p.took.Seconds())
		b.ReportMetric(float64(took.Nanoseconds())/events, "ns/event")
		b.ReportMetric(float64(sizeOf(b, dir))/events, "B/event")
		b.ReportMetric(node, "events/s-of-the-node")
		b.ReportMetric(float64(p.pods), "pods-of-the-node")
		b.ReportMetric(100*node*float64(took)/events/1e9, "%-of-a-core")
		b.ReportMetric(node*86400*float64(sizeOf(b, dir))/events/1e6, "MB/day")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkPace measures what an event takes on the disk at the pace of a real node: blocks have what came in writeEvery.
func BenchmarkPace(b *testing.B) {
	for range b.N {
		p := newPlayer(b, 4)
		w, err := trace.NewWriter(io.Discard, &trace.Header{Info: p.info})
		if err != nil {
			b.Fatal(err)
		}
		written := int64(0)
		for p.rounds < p.most-1 || p.at < len(p.once) {
			batch, err := p.Next(b.Context())
			if err != nil {
				b.Fatal(err)
			}
			if err := w.Add(batch); err != nil {
				b.Fatal(err)
			}
			for _, raw := range batch.Events {
				if h, _ := wire.ReadHeader(raw); h.Mono-written > int64(writeEvery) {
					written = h.Mono
					if err := w.Flush(); err != nil {
						b.Fatal(err)
					}
				}
			}
		}
		events := float64(p.most) * float64(p.last.Seq)
		b.ReportMetric(float64(w.Size())/events, "B/event")
		b.ReportMetric(86400*float64(w.Size())/(float64(p.most)*p.took.Seconds())/1e6, "MB/day")
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkAsk measures questions to a directory of about 1 GiB: what one pod was doing at a moment, and an hour of it.
func BenchmarkAsk(b *testing.B) {
	dir := os.Getenv("PODSTEP_BENCH_RECORD")
	if dir == "" {
		dir = b.TempDir()
	}
	files, err := list(dir)
	if err != nil {
		b.Fatal(err)
	}
	if len(files) == 0 {
		fillUp(b, dir)
	}
	size := sizeOf(b, dir)
	r, err := Open(dir, Choice{})
	if err != nil {
		b.Fatal(err)
	}
	end := r.Has()[len(r.Has())-1].To
	r.Close()
	pod := &agentpb.PodSelector{Namespace: "default", Name: "*"}
	b.ResetTimer()
	for range b.N {
		for unit, c := range map[string]Choice{
			"s/indexes":  {Since: end.Add(-time.Nanosecond), Until: end, Pods: pod},
			"s/at":       {Until: end.Add(-24 * time.Hour), Back: time.Hour, LastRun: true, Context: true, Pods: pod},
			"s/lastHour": {Since: end.Add(-time.Hour), Pods: pod},
		} {
			began := time.Now()
			events := 0
			r, err := Open(dir, c)
			if err != nil {
				b.Fatal(err)
			}
			for {
				batch, err := r.Next()
				if err != nil {
					break
				}
				events += len(batch.Events)
			}
			r.Close()
			b.ReportMetric(time.Since(began).Seconds(), unit)
			b.ReportMetric(float64(events), "events"+filepath.Base(unit))
		}
	}
	b.ReportMetric(float64(size)/(1<<20), "MiB")
	b.ReportMetric(float64(len(files)), "segments")
	b.ReportMetric(0, "ns/op")
}

// fillUp records until the directory has nearly a GiB.
func fillUp(b *testing.B, dir string) {
	b.Helper()
	p := newPlayer(b, 1<<20)
	r, err := Start(Options{Dir: dir, Keep: DefaultKeep, Tap: p.tap, Print: func(line string) { b.Log(line) }})
	if err != nil {
		b.Fatal(err)
	}
	for r.Stats().Bytes < DefaultKeep*95/100 {
		time.Sleep(time.Second)
	}
	if err := r.Stop(context.Background()); err != nil {
		b.Fatal(err)
	}
}
