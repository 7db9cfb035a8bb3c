//go:build bench

package tui

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/agent/trace/tracetest"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/session"
)

// Measurements of the screen, with the events of a real node. Each is printed next to the one that it is compared
// with, from the same run.

const (
	// recorded has 26 pods and 166 events a second. A quarter of the pods are gone at any time; this many replicas
	// of it have more than 500 pods that are not.
	recorded = "../agent/trace/testdata/node.podstep"
	replicas = 28
)

var benchSizes = []tea.WindowSizeMsg{{Width: 80, Height: 24}, {Width: 120, Height: 36}, {Width: 200, Height: 50}}

func crowd(t testing.TB, pace float64) *tracetest.Crowd {
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

// load is the load that a node puts on a screen.
type load struct {
	perSecond int
	// pace is how much faster than recorded the events are played, so that perSecond is right.
	pace float64
	// held are the pods that are held, each with a lease.
	held int
}

func (l load) String() string { return fmt.Sprintf("%d events/s, %d pods held", l.perSecond, l.held) }

// loads are the loads that are measured. The others are compared with the first.
var loads = []load{{}, {perSecond: 10_000, pace: 2.15}, {perSecond: 5000, pace: 1.08, held: 50}}

// flood is a session in which events arrive without end. It also has the agent's answers to what a screen asks it
// every second.
type flood struct {
	*world
	news          chan session.News
	crowd         *tracetest.Crowd
	past, batches []*agentpb.Batch
}

// newFlood makes the events of a load: those from before, and those that come while keys are pressed.
func newFlood(t *testing.T, l load) *flood {
	f := &flood{world: newWorld(), news: make(chan session.News, 1), crowd: crowd(t, max(l.pace, 1))}
	const events = 200_000
	f.crowd.Hold(l.held, "sync.pod", time.Hour)
	for n := 0; n < events; n += 10_000 {
		f.past = append(f.past, batch(t, f.crowd, 10_000))
	}
	if got := len(f.crowd.Held()); got != l.held {
		t.Fatalf("%d pods are held, want %d", got, l.held)
	}
	if l.perSecond > 0 {
		for range int(keyCount * keyEvery / frameTime) {
			f.batches = append(f.batches, batch(t, f.crowd, int(time.Duration(l.perSecond)*frameTime/time.Second)))
		}
	}
	return f
}

// answers returns the agent's answers.
func (f *flood) answers() session.News {
	now := time.Now()
	n := session.News{Poll: &session.Poll{At: now, Pods: podStates(f.crowd)}, Holds: &session.Holds{At: now}}
	for _, h := range f.crowd.Held() {
		left := durationpb.New(h.Lease.AsDuration() - now.Sub(h.Since.AsTime()))
		h = proto.CloneOf(h)
		h.Lease, h.Ends = left, left
		n.Holds.List = append(n.Holds.List, h)
	}
	return n
}

func (f *flood) Next(ctx context.Context) (session.News, error) {
	select {
	case n := <-f.news:
		return n, nil
	case <-ctx.Done():
		return session.News{}, ctx.Err()
	}
}

// run brings the batches at the pace of frames, as a session does, and the answers of the agent. A slow reader gets
// them later, but gets them all.
func (f *flood) run(ctx context.Context) {
	tick, poll := time.NewTicker(frameTime), time.NewTicker(time.Second)
	defer tick.Stop()
	defer poll.Stop()
	for began, sent := time.Now(), 0; ; {
		var n session.News
		due := sent
		select {
		case <-tick.C:
			due = min(len(f.batches), int(time.Since(began)/frameTime))
			n.Batches = f.batches[sent:due]
		case <-poll.C:
			n = f.answers()
		case <-ctx.Done():
			return
		}
		if len(n.Batches) == 0 && n.Poll == nil {
			continue
		}
		select {
		case f.news <- n:
			sent = due
		case <-ctx.Done():
			return
		}
	}
}

// frameTime is the frameTime of package session.
const frameTime = 16 * time.Millisecond

// presses are the keys of a person who looks around: through the pods, into a story, to the timeline and the events,
// into the palette and out.
var presses = strings.Fields("j j j enter j j l h tab k t + m } - e j k G w esc p / w e esc g G ] [ F F J J ? esc : t esc L L z z")

const keyCount = 500

// keyEvery is no multiple of a frame, so that keys come at any moment of one.
const keyEvery = 41 * time.Millisecond

// keyToFrame presses keys under a load. It returns how long each key took until its frame, and how much of a core
// the program used meanwhile.
func keyToFrame(t *testing.T, size tea.WindowSizeMsg, l load) (took []time.Duration, cpu float64) {
	f := newFlood(t, l)
	first := f.answers()
	first.Info, first.Link, first.Batches, first.CaughtUp = f.crowd.Info, &session.LinkNews{Link: screen.LinkLive}, f.past, true
	f.news <- first
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
	g.until(t, 1, frames) // the events from before have been taken
	before, began := labtest.CPUTime(t, os.Getpid()), time.Now()
	go f.run(ctx)
	tick := time.NewTicker(keyEvery)
	defer tick.Stop()
	var pressed [keyCount]time.Time
	for i := range pressed {
		<-tick.C
		pressed[i] = time.Now()
		send(presses[i%len(presses)])
	}
	g.until(t, keyCount+1, frames)
	cpu = float64(labtest.CPUTime(t, os.Getpid())-before) / float64(time.Since(began))
	cancel()
	<-ended
	if h := m.screen().Header; h.Pods < 500 || h.Held != l.held {
		t.Fatalf("the screen shows %d pods, %d of them held", h.Pods, h.Held)
	}
	return waits(pressed[:], frames), cpu
}

// waits returns the times from keys to frames. Keys that came close together share the frame of the last one.
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
		return []byte("\x1b[27u") // else the next key would be read with Alt
	}
	return []byte(name)
}

// quantile returns the longest time among the fastest part of all.
func quantile(sorted []time.Duration, part float64) time.Duration {
	return sorted[int(part*float64(len(sorted)-1))].Round(100 * time.Microsecond)
}

// TestBenchKeyToFrame measures the time from a key to the frame that shows its effect, while events arrive for 500
// pods and some of them are held. It compares that with a quiet node of as many pods, none of them held.
func TestBenchKeyToFrame(t *testing.T) {
	for _, size := range benchSizes {
		var quiet []time.Duration
		for i, l := range loads {
			took, cpu := keyToFrame(t, size, l)
			if i == 0 {
				quiet = took
			}
			ratio := func(part float64) float64 { return float64(quantile(took, part)) / float64(quantile(quiet, part)) }
			fmt.Printf("key to frame %dx%d, %v: median %v, 99th percentile %v (aim 50ms), worst %v; of a quiet screen's %.2f, %.2f; %.0f%% of a core\n",
				size.Width, size.Height, l, quantile(took, 0.5), quantile(took, 0.99), quantile(took, 1), ratio(0.5), ratio(0.99), 100*cpu)
		}
	}
}

// TestBenchFrame compares the cost of one frame after few events and after many, of the same pods. Each frame has
// new events in it.
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

// podStates returns what an agent says of healthy pods, and of those that it holds.
func podStates(c *tracetest.Crowd) (all []*agentpb.PodState) {
	held := map[uint32]*agentpb.HoldInfo{}
	for _, h := range c.Held() {
		held[h.Pod.Id] = h
	}
	for _, p := range c.Pods() {
		s := &agentpb.PodState{Pod: p, Phase: "Running", State: "waiting"}
		if h := held[p.Id]; h != nil {
			s.State, s.Step, s.Since, s.Holds = "held", h.Step, h.Since, []*agentpb.HoldInfo{h}
		}
		all = append(all, s)
	}
	return all
}
