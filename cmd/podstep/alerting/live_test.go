package alerting

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/agenttest"
	"github.com/podstep/podstep/agent/alert"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/probes"
)

// start is the wall clock at session time 0.
var start = time.Unix(1_800_000_000, 0)

// fakeClock stands still until a test moves it.
type fakeClock struct {
	mu    sync.Mutex
	now   time.Time
	waits map[chan time.Time]time.Time
	// asked gets how long somebody waits, whenever somebody begins to.
	asked chan time.Duration
}

func newClock(at time.Duration) *fakeClock {
	return &fakeClock{now: start.Add(at), waits: map[chan time.Time]time.Time{}, asked: make(chan time.Duration, 1000)}
}

func (c *fakeClock) clock() Clock { return Clock{c.Now, c.After} }

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) After(d time.Duration) <-chan time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	ch := make(chan time.Time, 1)
	c.waits[ch] = c.now.Add(d)
	c.asked <- d
	return ch
}

// move sets the time since the start.
func (c *fakeClock) move(to time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = start.Add(to)
	for ch, at := range c.waits {
		if !c.now.Before(at) {
			ch <- c.now
			delete(c.waits, ch)
		}
	}
}

// fakeAgent remembers some events, and sends what a test gives it. It ends the stream when the test closes batches.
type fakeAgent struct {
	agenttest.Agent
	remembered []*agentpb.Event
	batches    chan *agentpb.Batch
}

var web = &agentpb.Pod{Id: 1, Namespace: "shop", Name: "web", Uid: "u-web"}

func (f *fakeAgent) Pods(context.Context, *agentpb.PodsRequest) (*agentpb.PodsResponse, error) {
	return &agentpb.PodsResponse{Pods: []*agentpb.PodState{{Pod: web, State: "working"}}}, nil
}

func (f *fakeAgent) Watch(r *agentpb.WatchRequest, s grpc.ServerStreamingServer[agentpb.Batch]) error {
	first := eventtest.Batch(f.remembered...)
	first.Pods = []*agentpb.Pod{web}
	if err := s.Send(first); err != nil {
		return err
	}
	if err := s.Send(&agentpb.Batch{CaughtUp: true}); err != nil {
		return err
	}
	for {
		select {
		case b, ok := <-f.batches:
			if !ok {
				return nil
			}
			if err := s.Send(b); err != nil {
				return err
			}
		case <-s.Context().Done():
			return s.Context().Err()
		}
	}
}

func (f *fakeAgent) event(at time.Duration, kind agentpb.Kind, step string, span uint64, err string) *agentpb.Event {
	return &agentpb.Event{
		Seq: uint64(at/time.Millisecond) + 1, Kind: kind, Step: eventtest.Step(f.About, step), Pod: 1, Span: span, Error: err,
		Mono: int64(at), Time: start.UnixNano() + int64(at), Duration: 1e9,
	}
}

// running is an alert that follows the fake agent.
type running struct {
	agent   *fakeAgent
	clock   *fakeClock
	matches chan string
	end     chan error
	stop    context.CancelFunc
}

func follow(t *testing.T, text string, at time.Duration, remembered func(*fakeAgent) []*agentpb.Event, change func(*Live), most time.Duration) *running {
	t.Helper()
	f := &fakeAgent{Agent: agenttest.Agent{About: agenttest.Info()}, batches: make(chan *agentpb.Batch, 10)}
	if remembered != nil {
		f.remembered = remembered(f)
	}
	path := filepath.Join(t.TempDir(), "s")
	agenttest.Serve(t, f, path)
	c, err := client.Dial(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	parsed, err := alert.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{agent: f, clock: newClock(at), matches: make(chan string, 100), end: make(chan error, 1), stop: cancel}
	l := &Live{Client: c, Catalogue: probes.MustLoad(), Alert: parsed, Pods: &agentpb.PodSelector{}, Clock: r.clock.clock(), Lost: func(e *probes.Event) { r.matches <- "lost " + e.Lost() }}
	l.Match = func(m *alert.Match) error {
		r.matches <- fmt.Sprintf("%v %s %s", m.Time.Sub(start), m.Pod.Name, m.Text())
		return nil
	}
	if change != nil {
		change(l)
	}
	go func() { r.end <- l.Run(ctx, most) }()
	t.Cleanup(func() {
		cancel()
	})
	return r
}

// waitFor waits until somebody waits for that long.
func (r *running) waitFor(want time.Duration) {
	for d := range r.clock.asked {
		if d == want {
			return
		}
	}
}

// TestRunningByClock: a call that goes on is found by the clock alone, as soon as the events of that time must have come.
func TestRunningByClock(t *testing.T) {
	r := follow(t, "step=image.pull running>2m", 100*time.Second, func(f *fakeAgent) []*agentpb.Event {
		return []*agentpb.Event{f.event(50*time.Second, agentpb.Kind_ENTER, "image.pull", 1, ""), f.event(60*time.Second, agentpb.Kind_EXIT, "cri.PullImage", 9, "x")}
	}, nil, 0)
	r.waitFor(70*time.Second + lag)
	r.clock.move(170*time.Second + lag - 1)
	select {
	case m := <-r.matches:
		t.Errorf("it matches too early: %s", m)
	default:
	}
	r.clock.move(170*time.Second + lag)
	if m := <-r.matches; m != "2m50s web image.pull goes on for more than 2m" {
		t.Errorf("the match is %s", m)
	}
	// Another call ends in time, though its end comes when the clock is past it.
	r.clock.move(200 * time.Second)
	r.agent.batches <- eventtest.Batch(r.agent.event(200*time.Second, agentpb.Kind_ENTER, "image.pull", 2, ""))
	r.waitFor(120*time.Second + lag)
	r.clock.move(320*time.Second + lag/2)
	r.agent.batches <- eventtest.Batch(r.agent.event(319*time.Second, agentpb.Kind_EXIT, "image.pull", 2, ""), r.agent.event(320*time.Second, agentpb.Kind_ENTER, "image.pull", 3, ""))
	r.waitFor(120*time.Second + lag/2)
	r.stop()
	if err := <-r.end; err != nil || len(r.matches) > 0 {
		t.Errorf("it ends with %v, %d matches", err, len(r.matches))
	}
}

// TestPastIsOver: what the agent remembers does not match, and what has lasted since does.
func TestPastIsOver(t *testing.T) {
	remembered := func(f *fakeAgent) []*agentpb.Event {
		return []*agentpb.Event{
			f.event(1*time.Second, agentpb.Kind_EXIT, "cri.PullImage", 9, "old"), f.event(2*time.Second, agentpb.Kind_ENTER, "worker.turn", 1, ""), f.event(3*time.Second, agentpb.Kind_ENTER, "sync.volumes", 2, ""),
		}
	}
	for text, want := range map[string]string{
		"err":                     "5m1s web cri.PullImage failed after 1.00 s: new",
		"state=stuck":             "5m0s web stuck for 4m57s at sync.volumes",
		"step~vol running>1m":     "1m3s web sync.volumes goes on for more than 1m",
		"err then err within 10m": "5m1s web cri.PullImage failed after 1.00 s: old; then cri.PullImage failed after 1.00 s: new",
	} {
		r := follow(t, text, 300*time.Second, remembered, func(l *Live) { l.Once = true }, 0)
		r.agent.batches <- eventtest.Batch(r.agent.event(301*time.Second, agentpb.Kind_EXIT, "cri.PullImage", 8, "new"))
		if err := <-r.end; err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if m := <-r.matches; m != want && !strings.HasPrefix(m, "4m59.75s") {
			t.Errorf("%s matches %s, want %s", text, m, want)
		}
	}
}

// TestEnds: how an alert ends, and with which error.
func TestEnds(t *testing.T) {
	once := func(l *Live) { l.Once = true }
	for _, c := range []struct {
		name   string
		change func(*Live)
		most   time.Duration
		do     func(*running)
		want   string
	}{
		{"--for runs out", nil, time.Minute, func(r *running) { r.waitFor(time.Minute); r.clock.move(2 * time.Minute) }, ""},
		{"--for runs out before --once", once, time.Minute, func(r *running) { r.waitFor(time.Minute); r.clock.move(2 * time.Minute) }, "nothing matched within 1m0s; podstep pods shows what the pods do"},
		{"a person ends it", nil, 0, func(r *running) { r.stop() }, ""},
		{"a person ends it before --once", once, 0, func(r *running) { r.stop() }, "interrupted before a match"},
		{"the agent ends", nil, 0, func(r *running) { close(r.agent.batches) }, "the agent ended the stream, and podstep sees no more; see podstep doctor"},
		{"a match cannot be printed", func(l *Live) { l.Match = func(*alert.Match) error { return errors.New("disk is full") } }, 0, func(r *running) {
			r.agent.batches <- eventtest.Batch(r.agent.event(time.Second, agentpb.Kind_EXIT, "cri.PullImage", 8, "x"))
		}, "disk is full"},
	} {
		r := follow(t, "err", time.Second, nil, c.change, c.most)
		c.do(r)
		err := <-r.end
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: it ends with %v, want %q", c.name, err, c.want)
		}
	}
}

// TestLostEvents: losses are reported.
func TestLostEvents(t *testing.T) {
	r := follow(t, "err", time.Second, nil, nil, 0)
	r.agent.batches <- eventtest.Batch(&agentpb.Event{Seq: 5, Kind: agentpb.Kind_DROP, Mono: 1, Time: start.UnixNano() + 1, Error: "too many"})
	if m := <-r.matches; m != "lost too many" {
		t.Errorf("reported is %s", m)
	}
}
