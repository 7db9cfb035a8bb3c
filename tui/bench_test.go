//go:build bench

package tui

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/trace"
	"github.com/podstep/podstep/tui/session"
	"github.com/podstep/podstep/tui/state"
)

// busy makes the events of a node with many pods, each of which is created and
// then looked at again and again.
type busy struct {
	*world
	pods []*agentpb.Pod
	made int
}

const manyPods = 500

func newBusy() *busy {
	b := &busy{world: newWorld()}
	for i := range manyPods {
		b.pods = append(b.pods, &agentpb.Pod{Id: uint32(i + 1), Namespace: "shop", Name: fmt.Sprintf("web-%03d", i), Uid: fmt.Sprintf("uid-%d", i)})
	}
	return b
}

// batch makes about so many events.
func (b *busy) batch(events int) *agentpb.Batch {
	out := &agentpb.Batch{}
	for len(out.Events) < events {
		p := b.pods[b.made%manyPods]
		c := b.creation(p)
		if b.made < manyPods {
			out.Pods = append(out.Pods, p)
		}
		b.made++
		out.Events = append(out.Events, c.Events...)
		for span := b.spans + 4; span >= b.spans; span -= 4 {
			out.Events = append(out.Events, b.event(agentpb.Kind_EXIT, map[bool]string{true: "sync.pod", false: "cri.RunPodSandbox"}[span == b.spans], p, span, 0))
		}
	}
	return out
}

// flood is a session in which so many events a second arrive.
type flood struct {
	*busy
	news chan session.News
}

func (f *flood) Next(ctx context.Context) (session.News, error) {
	select {
	case n := <-f.news:
		return n, nil
	case <-ctx.Done():
		return session.News{}, ctx.Err()
	}
}

// run brings events at the pace of frames, as a session does.
func (f *flood) run(ctx context.Context, perSecond int) {
	const frame = 16 * time.Millisecond
	tick := time.NewTicker(frame)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		select {
		case f.news <- session.News{Batches: []*agentpb.Batch{f.batch(perSecond * int(frame) / int(time.Second))}}:
		case <-ctx.Done():
			return
		}
	}
}

// glass is what a terminal would get; it tells when words appear on it.
type glass struct {
	mu   sync.Mutex
	word []byte
	seen chan struct{}
}

func (g *glass) Write(b []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.word != nil && bytes.Contains(b, g.word) {
		g.word = nil
		g.seen <- struct{}{}
	}
	return len(b), nil
}

func (g *glass) expect(word string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.word = []byte(word)
}

// TestBenchKeyToFrame measures from a key to the frame that shows what it did,
// with 10,000 events a second arriving for 500 pods.
func TestBenchKeyToFrame(t *testing.T) {
	f := &flood{busy: newBusy(), news: make(chan session.News, 1)}
	f.news <- session.News{Info: f.info, Link: &session.LinkNews{Link: state.LinkLive}, Batches: []*agentpb.Batch{f.batch(20 * manyPods)}, CaughtUp: true}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	keys, press := io.Pipe()
	g := &glass{seen: make(chan struct{}, 1)}
	m := newModel(ctx, f, Options{Lang: state.English, Theme: "dark"}, wallClock)
	m.offered = true
	p := tea.NewProgram(m, tea.WithContext(ctx), tea.WithInput(keys), tea.WithOutput(g), tea.WithWindowSize(200, 50), tea.WithoutSignalHandler(),
		tea.WithEnvironment([]string{"TERM=xterm-256color", "COLORTERM=truecolor"}))
	ended := make(chan error)
	go func() { _, err := p.Run(); ended <- err }()
	g.expect("live")
	<-g.seen
	go f.run(ctx, 10_000)
	var took []time.Duration
	for i := range 400 {
		word := "实时"
		if i%2 == 1 {
			word = "live"
		}
		g.expect(word)
		began := time.Now()
		if _, err := press.Write([]byte("L")); err != nil {
			t.Fatal(err)
		}
		<-g.seen
		took = append(took, time.Since(began))
	}
	events := f.seq
	cancel()
	<-ended
	slices.Sort(took)
	at := func(part float64) time.Duration {
		return took[int(part*float64(len(took)-1))].Round(100 * time.Microsecond)
	}
	fmt.Printf("key to frame, 10,000 events/s, %d pods, %d events in all: median %v, 99th percentile %v (aim 50ms), worst %v\n", manyPods, events, at(0.5), at(0.99), at(1))
}

// TestBenchFrame compares the cost of one frame with few and with many events.
func TestBenchFrame(t *testing.T) {
	cost := func(events int) time.Duration {
		b := newBusy()
		d := newDesk(t, b.world, Options{Theme: "dark"})
		d.m.offered = true
		d.send(tea.WindowSizeMsg{Width: 200, Height: 50})
		d.live()
		for n := 0; n < events; n += 1000 {
			d.tell(session.News{Batches: []*agentpb.Batch{b.batch(1000)}})
		}
		r := testing.Benchmark(func(bench *testing.B) {
			for bench.Loop() {
				d.m.frame.touch()
				d.m.View()
			}
		})
		return time.Duration(r.NsPerOp())
	}
	few, many := cost(1000), cost(1_000_000)
	fmt.Printf("one frame of 200x50: %v with 1,000 events, %v with 1,000,000; ratio %.2f (aim 1)\n", few, many, float64(many)/float64(few))
}

// TestBenchOpen measures how long a trace file of a million events takes to be
// on the screen, and what memory it takes.
func TestBenchOpen(t *testing.T) {
	const events = 1_000_000
	b := newBusy()
	path := filepath.Join(t.TempDir(), "x.podstep")
	w, err := trace.Create(path, &trace.Header{Podstep: "bench", Began: time.Now(), Info: b.info})
	if err != nil {
		t.Fatal(err)
	}
	for b.seq < events {
		if err := w.Add(b.batch(1000)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	size := w.Size()
	b = nil
	runtime.GC()
	began := time.Now()
	s, err := session.NewReplay(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m := newModel(t.Context(), s, Options{Lang: state.English, Theme: "dark"}, wallClock)
	m.Update(tea.WindowSizeMsg{Width: 200, Height: 50})
	for !m.caughtUp {
		n, err := s.Next(t.Context())
		m.Update(newsMsg{n, err})
		m.View()
	}
	took := time.Since(began)
	runtime.GC()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	fmt.Printf("open %d events (%.1f bytes each on disk): %v (aim 2s), %d MiB of heap (aim 400)\n", m.state.Events(), float64(size)/events, took.Round(time.Millisecond), mem.HeapInuse>>20)
}
