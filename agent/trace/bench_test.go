//go:build bench

package trace

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// recording is two minutes of a real node: pods that start, crash, cannot pull
// their image, are probed, scaled and deleted.
const recording = "testdata/node.podstep"

// aim is how many events a trace must be able to hold.
const aim = 1_000_000

// many repeats the recording until there are n events, as if the node had gone on: with other pods, other spans, later
// times.
func many(b *testing.B, n int) (info *agentpb.InfoResponse, batches []*agentpb.Batch) {
	b.Helper()
	r, err := Open(recording)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	var once []*agentpb.Batch
	for {
		batch, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			b.Fatal(err)
		}
		once = append(once, batch)
	}
	shift := shifter{}
	for n > 0 {
		for _, batch := range once {
			again := shift.batch(batch, n)
			n -= len(again.Events)
			batches = append(batches, again)
		}
		shift.next()
	}
	return r.Header().Info, batches
}

// shifter moves events to a later time, other pods and other spans.
type shifter struct {
	event
	base, last wire.Header
	scratch    []byte
}

func (s *shifter) batch(b *agentpb.Batch, most int) *agentpb.Batch {
	out := &agentpb.Batch{}
	for _, p := range b.Pods {
		out.Pods = append(out.Pods, &agentpb.Pod{Id: p.Id + s.base.Pod, Namespace: p.Namespace, Name: p.Name, Uid: p.Uid})
	}
	for _, raw := range b.Events[:min(most, len(b.Events))] {
		_, s.scratch = s.read(raw, s.scratch)
		e := &s.event
		e.Seq, e.Mono, e.Time = e.Seq+s.base.Seq, e.Mono+s.base.Mono, e.Time+s.base.Mono
		for _, span := range []*uint64{&e.Span, &e.Parent} {
			if *span > 0 {
				*span += s.base.Span
			}
		}
		if e.Pod > 0 {
			e.Pod += s.base.Pod
		}
		out.Events = append(out.Events, e.append(nil))
		s.last.Seq, s.last.Mono = max(s.last.Seq, e.Seq), max(s.last.Mono, e.Mono)
		s.last.Span, s.last.Pod = max(s.last.Span, e.Span), max(s.last.Pod, e.Pod)
	}
	return out
}

func (s *shifter) next() { s.base = s.last }

// BenchmarkOpen measures opening a trace of a million events and keeping them all. It compares that with the same
// events as lines of JSON, compressed with gzip.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	ours, peer := filepath.Join(dir, "a.podstep"), filepath.Join(dir, "a.jsonl.gz")
	info, batches := many(b, aim)
	size := writeOurs(b, ours, info, batches)
	peerSize := writeJSON(b, peer, info, batches)
	batches = nil
	took, live := measure(b, func() any { return openOurs(b, ours) })
	peerTook, peerLive := measure(b, func() any { return openJSON(b, peer) })
	b.ReportMetric(took.Seconds(), "s/open")
	b.ReportMetric(float64(live)/(1<<20), "MiB-live")
	b.ReportMetric(float64(size)/aim, "B/event")
	b.ReportMetric(peerTook.Seconds(), "json-s/open")
	b.ReportMetric(float64(peerLive)/(1<<20), "json-MiB-live")
	b.ReportMetric(took.Seconds()/peerTook.Seconds(), "time-ratio")
	b.ReportMetric(float64(size)/float64(peerSize), "size-ratio")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkSize reports what an event of the real recording takes on disk. The repeated recording would flatter: events
// like earlier ones are cheap.
func BenchmarkSize(b *testing.B) {
	r, err := Open(recording)
	if err != nil {
		b.Fatal(err)
	}
	var batches []*agentpb.Batch
	events, wireBytes := 0, 0
	for {
		batch, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			b.Fatal(err)
		}
		batches = append(batches, batch)
		for _, raw := range batch.Events {
			events, wireBytes = events+1, wireBytes+len(raw)
		}
	}
	file, err := os.Stat(recording)
	if err != nil {
		b.Fatal(err)
	}
	peer := writeJSON(b, filepath.Join(b.TempDir(), "a.gz"), r.Header().Info, batches)
	b.ReportMetric(float64(file.Size())/float64(events), "B/event")
	b.ReportMetric(float64(wireBytes)/float64(events), "wire-B/event")
	b.ReportMetric(float64(peer)/float64(events), "json-B/event")
	b.ReportMetric(float64(file.Size())/float64(peer), "size-ratio")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkWrite measures what recording an event costs.
func BenchmarkWrite(b *testing.B) {
	info, batches := many(b, 100_000)
	b.ResetTimer()
	for range b.N {
		w, err := NewWriter(io.Discard, &Header{Info: info})
		if err != nil {
			b.Fatal(err)
		}
		for _, batch := range batches {
			if err := w.Add(batch); err != nil {
				b.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100_000, "ns/event")
}

func writeOurs(b *testing.B, path string, info *agentpb.InfoResponse, batches []*agentpb.Batch) int64 {
	w, err := Create(path, &Header{Info: info})
	if err != nil {
		b.Fatal(err)
	}
	for _, batch := range batches {
		if err := w.Add(batch); err != nil {
			b.Fatal(err)
		}
		// As when it was recorded: a block each second.
		if err := w.Flush(); err != nil {
			b.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	return w.Size()
}

func openOurs(b *testing.B, path string) (kept []*agentpb.Batch) {
	r, err := Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	for {
		batch, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			b.Fatal(err)
		}
		kept = append(kept, batch)
	}
	if r.Events() != aim {
		b.Fatalf("%d events", r.Events())
	}
	return kept
}

func writeJSON(b *testing.B, path string, info *agentpb.InfoResponse, batches []*agentpb.Batch) int64 {
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	z := gzip.NewWriter(f)
	print := json.NewEncoder(z)
	d := wire.NewDecoder(info)
	for _, batch := range batches {
		for _, e := range d.Batch(batch) {
			if err := print.Encode(e); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := z.Close(); err != nil {
		b.Fatal(err)
	}
	size, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		b.Fatal(err)
	}
	return size
}

func openJSON(b *testing.B, path string) []probes.Event {
	f, err := os.Open(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		b.Fatal(err)
	}
	var kept []probes.Event
	for d := json.NewDecoder(z); ; {
		var e probes.Event
		if err := d.Decode(&e); err == io.EOF {
			return kept
		} else if err != nil {
			b.Fatal(err)
		}
		kept = append(kept, e)
	}
}

// measure returns how long open takes, and how much memory its result takes.
func measure(b *testing.B, open func() any) (took time.Duration, live uint64) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	begin := time.Now()
	kept := open()
	took = time.Since(begin)
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(kept)
	return took, after.HeapAlloc - before.HeapAlloc
}
