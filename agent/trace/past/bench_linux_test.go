//go:build bench

package past

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
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

// BenchmarkAsk measures questions to a directory of a GiB: an hour of one pod, and what it was doing at a moment. The
// last hours are of a real node's events; the segments before them are copies of the first of these.
func BenchmarkAsk(b *testing.B) {
	dir := b.TempDir()
	fillUp(b, dir)
	parts, _, err := Dir(dir).survey(nil)
	if err != nil {
		b.Fatal(err)
	}
	last := parts[len(parts)-1]
	end, run := wall(last.Last), runsOf(parts)
	named := slices.IndexFunc(last.Pods, func(p podName) bool { return p.Name != "" })
	pod := &agentpb.PodSelector{Uid: last.Pods[named].UID, Namespace: last.Pods[named].Namespace, Name: last.Pods[named].Name}
	b.ReportMetric(float64(len(parts)), "segments")
	b.ReportMetric(float64(len(run)), "runs")
	for range b.N {
		before := processor()
		if _, _, err := Dir(dir).survey(nil); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric((processor() - before).Seconds(), "cpu-s/indexes")
		ask(b, dir, "at", Choice{Until: end.Add(-30 * time.Minute), Back: time.Hour, Context: true, Pods: pod})
		ask(b, dir, "lastHour", Choice{Since: end.Add(-time.Hour), Pods: pod})
	}
	b.ReportMetric(0, "ns/op")
}

func ask(b *testing.B, dir, name string, c Choice) {
	b.Helper()
	before, events := processor(), 0
	r, err := Open(Dir(dir), c)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	for {
		batch, err := r.Next()
		if err != nil {
			break
		}
		events += len(batch.Events)
	}
	b.ReportMetric((processor() - before).Seconds(), "cpu-s/"+name)
	b.ReportMetric(float64(events), "events/"+name)
}

// fillUp records some hours, and fills the directory up to a GiB with segments before them.
func fillUp(b *testing.B, dir string) {
	b.Helper()
	const first = 100_000 // leaves numbers for the copies
	if err := os.WriteFile(filepath.Join(dir, nameOf(first-1, time.Unix(0, 0))), nil, 0o600); err != nil {
		b.Fatal(err)
	}
	p := newPlayer(b, 100)
	r, err := Start(Options{Dir: dir, Keep: DefaultKeep, Tap: p.tap, Print: func(line string) { b.Log(line) }})
	if err != nil {
		b.Fatal(err)
	}
	<-p.done
	if err := r.Stop(context.Background()); err != nil {
		b.Fatal(err)
	}
	files, err := list(dir)
	if err != nil {
		b.Fatal(err)
	}
	have := sizeOf(b, dir)
	for n := 0; have < DefaultKeep; n++ {
		if err := os.Link(files[1].path, filepath.Join(dir, nameOf(n, time.Unix(0, 0)))); err != nil {
			b.Fatal(err)
		}
		have += files[1].size
	}
}
