//go:build bench

package tui

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/trace/tracetest"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/session"
)

// Measurements of the screen, with the events of a real node. Each is next to
// what it is compared with, in the same run.

const (
	// recorded has 26 pods and 166 events a second; so many tellers of it make
	// more than 500 pods, and, played this much faster, 10,000 events a second.
	recorded  = "../agent/trace/testdata/node.podstep"
	replicas  = 20
	pace      = 3
	perSecond = 10_000
)

var benchSizes = []tea.WindowSizeMsg{{Width: 120, Height: 36}, {Width: 200, Height: 50}}

func crowd(t testing.TB, pace int) *tracetest.Crowd {
	t.Helper()
	c, err := tracetest.NewCrowd(recorded, replicas, time.Now(), pace)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func batch(t testing.TB, c *tracetest.Crowd, n int) *agentpb.Batch {
	t.Helper()
	b, err := c.Batch(n)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// flood is a session in which events arrive without end.
type flood struct {
	*world
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

// run brings the batches at the pace of frames, as a session does. Who is slow to
// take them gets them later, but all of them.
func (f *flood) run(ctx context.Context, batches []*agentpb.Batch) {
	tick := time.NewTicker(frameTime)
	defer tick.Stop()
	for began, sent := time.Now(), 0; sent < len(batches); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		due := min(len(batches), int(time.Since(began)/frameTime))
		if due == sent {
			continue
		}
		select {
		case f.news <- session.News{Batches: batches[sent:due]}:
			sent = due
		case <-ctx.Done():
			return
		}
	}
}

// frameTime is that of package session.
const frameTime = 16 * time.Millisecond

// presses are keys that a person presses while looking around: through the pods,
// into a story, to the timeline and the events, into the palette and out.
var presses = strings.Fields("j j j enter j j l h tab k t + m } - e j k G w esc p / w e esc g G ] [ F F ? esc : t esc L L z z")

const keyCount = 500

// keyEvery is no multiple of a frame, so that keys come at any moment of one.
const keyEvery = 41 * time.Millisecond

// keyToFrame presses keys while batches arrive, and tells for each how long it
// took until its frame.
func keyToFrame(t *testing.T, size tea.WindowSizeMsg, info *agentpb.InfoResponse, past, batches []*agentpb.Batch) []time.Duration {
	f := &flood{world: newWorld(), news: make(chan session.News, 1)}
	f.news <- session.News{Info: info, Link: &session.LinkNews{Link: screen.LinkLive}, Batches: past, CaughtUp: true}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	keys, press := io.Pipe()
	g := make(glass, keyCount+2)
	m := newModel(ctx, f, Options{Lang: words.English, Theme: "dark"}, wallClock)
	m.offered = true
	p := tea.NewProgram(&counting{Model: m}, tea.WithContext(ctx), tea.WithInput(keys), tea.WithOutput(g), tea.WithWindowSize(size.Width, size.Height),
		tea.WithoutSignalHandler(), tea.WithEnvironment([]string{"TERM=xterm-256color", "COLORTERM=truecolor"}))
	ended := make(chan error)
	go func() { _, err := p.Run(); ended <- err }()
	frames := map[int]time.Time{}
	send := func(key string) {
		if _, err := press.Write(keyBytes(key)); err != nil {
			t.Fatal(err)
		}
	}
	send("p")
	g.until(t, 1, frames) // the past has been taken in
	go f.run(ctx, batches)
	tick := time.NewTicker(keyEvery)
	defer tick.Stop()
	var pressed [keyCount]time.Time
	for i := range pressed {
		<-tick.C
		pressed[i] = time.Now()
		send(presses[i%len(presses)])
	}
	g.until(t, keyCount+1, frames)
	cancel()
	<-ended
	return waits(pressed[:], frames)
}

// waits are the times from keys to frames. Keys that came close together share a
// frame, that of the last.
func waits(pressed []time.Time, frames map[int]time.Time) []time.Duration {
	var took []time.Duration
	var next time.Time
	for i := len(pressed) - 1; i >= 0; i-- {
		if at, ok := frames[i+2]; ok {
			next = at
		}
		took = append(took, next.Sub(pressed[i]))
	}
	slices.Sort(took)
	return took
}

func keyBytes(name string) []byte {
	switch name {
	case "enter":
		return []byte("\r")
	case "tab":
		return []byte("\t")
	case "esc":
		return []byte("\x1b[27u") // not to be taken for Alt with the next key
	}
	return []byte(name)
}

// at is the time that a part of all takes at most.
func at(sorted []time.Duration, part float64) time.Duration {
	return sorted[int(part*float64(len(sorted)-1))].Round(100 * time.Microsecond)
}

// TestBenchKeyToFrame measures from a key to the frame that shows what it did,
// with 10,000 events a second arriving for 500 pods, next to the same node when
// nothing happens on it.
func TestBenchKeyToFrame(t *testing.T) {
	c := crowd(t, pace)
	var past, batches []*agentpb.Batch
	for range 20 {
		past = append(past, batch(t, c, perSecond))
	}
	for range int(keyCount * keyEvery / frameTime) {
		batches = append(batches, batch(t, c, int(perSecond*frameTime/time.Second)))
	}
	for _, size := range benchSizes {
		idle := keyToFrame(t, size, c.Info, past, nil)
		busy := keyToFrame(t, size, c.Info, past, batches)
		fmt.Printf("key to frame %dx%d, %d events/s: median %v, 99th percentile %v (aim 50ms), worst %v; when nothing arrives %v, %v, %v; ratio of the 99th %.2f\n",
			size.Width, size.Height, perSecond, at(busy, 0.5), at(busy, 0.99), at(busy, 1), at(idle, 0.5), at(idle, 0.99), at(idle, 1), float64(at(busy, 0.99))/float64(at(idle, 0.99)))
	}
}

// TestBenchFrame compares the cost of one frame with few events behind it and
// with many, of the same pods. Each frame has new events in it.
func TestBenchFrame(t *testing.T) {
	const frames = 300
	views := []struct {
		key, name string
		main      screen.Main
	}{{"p", "pipeline", screen.MainStory}, {"t", "timeline", screen.MainTimeline}, {"e", "events", screen.MainEvents}}
	cost := func(events int) map[string]time.Duration {
		c := crowd(t, 1)
		d := newDesk(t, newWorld(), Options{Theme: "dark"})
		d.m.offered = true
		d.deliver(session.News{Info: c.Info, Link: &session.LinkNews{Link: screen.LinkLive}, CaughtUp: true})
		for n := 0; n < events; n += 1000 {
			d.deliver(session.News{Batches: []*agentpb.Batch{batch(t, c, 1000)}})
		}
		d.deliver(session.News{Poll: &session.Poll{At: d.now, Pods: podStates(c)}})
		d.m.state.SelectPodNamed("default", "web0")
		out := map[string]time.Duration{}
		for _, size := range benchSizes {
			d.send(size)
			for _, v := range views {
				d.press(v.key)
				if d.m.screen().Main != v.main {
					t.Fatalf("%s does not show the %s", v.key, v.name)
				}
				var took []time.Duration
				for range frames {
					d.deliver(session.News{Batches: []*agentpb.Batch{batch(t, c, 160)}})
					began := time.Now()
					d.m.View()
					took = append(took, time.Since(began))
				}
				slices.Sort(took)
				out[fmt.Sprintf("%dx%d %s", size.Width, size.Height, v.name)] = took[frames/2]
			}
		}
		return out
	}
	few, many := cost(1000), cost(1_000_000)
	for _, size := range benchSizes {
		for _, v := range views {
			name := fmt.Sprintf("%dx%d %s", size.Width, size.Height, v.name)
			fmt.Printf("one frame of %s: %v with 1,000 events, %v with 1,000,000; ratio %.2f (aim 1)\n",
				name, few[name].Round(time.Microsecond), many[name].Round(time.Microsecond), float64(many[name])/float64(few[name]))
		}
	}
}

// podStates is what an agent says of pods with nothing wrong.
func podStates(c *tracetest.Crowd) (all []*agentpb.PodState) {
	for _, p := range c.Pods() {
		all = append(all, &agentpb.PodState{Pod: p, Phase: "Running", State: "waiting"})
	}
	return all
}
