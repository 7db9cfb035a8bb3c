package tui

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/agenttest"
	"github.com/podstep/podstep/agent/client/fleet"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/session"
)

const (
	benchPods = 50
	// benchEvery is how often a node of the benchmark has events, and benchEvents is how many.
	benchEvery  = 200 * time.Millisecond
	benchEvents = 20
)

// benchAgent has pods, and sends events about them all the time.
type benchAgent struct {
	agenttest.Agent
	hangs, floods bool
	asked         atomic.Int64
}

func (a *benchAgent) Pods(ctx context.Context, _ *agentpb.PodsRequest) (*agentpb.PodsResponse, error) {
	if n := a.asked.Add(1); a.hangs && n > 1 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	answer := &agentpb.PodsResponse{}
	states := []string{"running", "working", "waiting", "retry", "stuck"}
	for i := range benchPods {
		answer.Pods = append(answer.Pods, &agentpb.PodState{
			Pod:   &agentpb.Pod{Id: uint32(i + 1), Namespace: fmt.Sprintf("team-%d", i%7), Name: fmt.Sprintf("web-6f9f7-%05d", i), Uid: fmt.Sprintf("%s-%d", a.About.Node, i)},
			Phase: "Running", State: states[(i+int(a.asked.Load()))%len(states)], Stage: "syncpod", Step: "sync.pod", Since: timestamppb.Now(),
		})
	}
	return answer, nil
}

func (a *benchAgent) Watch(_ *agentpb.WatchRequest, s grpc.ServerStreamingServer[agentpb.Batch]) error {
	var events []*agentpb.Event
	for i := range benchEvents {
		events = append(events, &agentpb.Event{Kind: agentpb.Kind_ENTER, Step: 1, Span: uint64(i + 1), Fields: []*agentpb.Field{eventtest.Field("text", "about as long as an event is, most often")}})
	}
	batch := eventtest.Batch(events...)
	for {
		if err := s.Send(batch); err != nil {
			return err
		}
		if a.floods {
			continue
		}
		select {
		case <-time.After(benchEvery):
		case <-s.Context().Done():
			return nil
		}
	}
}

// benchNodes is a screen on so many nodes. The last two of many are bad: one hangs, one floods.
func benchNodes(b *testing.B, count int) *nodesLoop {
	var nodes []fleet.Node
	var sources []Source
	for i := range count {
		info := agenttest.Info()
		info.Node = fmt.Sprintf("node-%03d", i)
		path := filepath.Join(b.TempDir(), "s")
		agenttest.Serve(b, &benchAgent{Agent: agenttest.Agent{About: info}, hangs: count > 2 && i == count-1, floods: count > 2 && i == count-2}, path)
		nodes = append(nodes, fleet.Socket("", path))
		sources = append(sources, Source{Open: func(context.Context) (session.Session, Options, error) { return nil, Options{}, nil }})
	}
	f := fleet.Follow(nodes)
	b.Cleanup(f.Close)
	s := newSources(b.Context(), sources, f, &ending{cancel: func() {}}, Options{Lang: words.English}, wallClock)
	l := &nodesLoop{s: s, fleet: f, messages: make(chan tea.Msg), keys: make(chan time.Time)}
	s.Update(tea.WindowSizeMsg{Width: 160, Height: 50})
	go l.follow(b.Context())
	l.until(func(c fleet.Counts) bool { return c[fleet.Live] >= min(count, max(1, count-2)) })
	return l
}

// nodesLoop does what Bubble Tea does: one message after the other, and a frame after each.
type nodesLoop struct {
	s        *Sources
	fleet    *fleet.Fleet
	messages chan tea.Msg
	keys     chan time.Time
}

func (l *nodesLoop) follow(ctx context.Context) {
	for {
		all, err := l.fleet.Next(ctx)
		if err != nil {
			return
		}
		select {
		case l.messages <- fleetMsg{all: all}:
		case <-ctx.Done():
			return
		}
	}
}

func (l *nodesLoop) until(is func(fleet.Counts) bool) {
	for {
		msg := (<-l.messages).(fleetMsg)
		l.s.list.Set(msg.all)
		if is(fleet.Count(msg.all)) {
			return
		}
	}
}

// keysToFrames presses keys at random moments, and returns how long each took until its frame was drawn.
func (l *nodesLoop) keysToFrames(n int) (took []time.Duration) {
	done := make(chan struct{})
	defer close(done)
	go func() {
		for {
			time.Sleep(7 * time.Millisecond)
			select {
			case l.keys <- time.Now():
			case <-done:
				return
			}
		}
	}()
	for i := 0; len(took) < n; i++ {
		select {
		case msg := <-l.messages:
			l.s.list.Set(msg.(fleetMsg).all)
			l.s.View()
		case at := <-l.keys:
			name := []string{"down", "down", "pgdown", "g", "up", "end", "g", "home"}[i%8]
			l.s.Update(keyPress(name))
			l.s.View()
			took = append(took, time.Since(at))
		}
	}
	slices.Sort(took)
	return took
}

// BenchmarkNodes measures the screen on a hundred nodes with fifty pods each, of which one hangs and one floods, against
// the screen on one node: the time from a key to its frame, and the memory of all, agents included.
func BenchmarkNodes(b *testing.B) {
	p := func(took []time.Duration, percent int) time.Duration { return took[len(took)*percent/100] }
	memory := func() float64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.HeapInuse+m.StackInuse) / (1 << 20)
	}
	one := benchNodes(b, 1)
	for b.Loop() {
		fewer := one.keysToFrames(300)
		before := memory()
		many := benchNodes(b, 100)
		more := many.keysToFrames(300)
		after := memory()
		var bytes uint64
		all, err := many.fleet.Next(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		for _, s := range all[:98] {
			bytes += s.Bytes
		}
		b.ReportMetric(float64(p(fewer, 50).Microseconds())/1000, "ms-p50/1-node")
		b.ReportMetric(float64(p(fewer, 99).Microseconds())/1000, "ms-p99/1-node")
		b.ReportMetric(float64(p(more, 50).Microseconds())/1000, "ms-p50/100-nodes")
		b.ReportMetric(float64(p(more, 99).Microseconds())/1000, "ms-p99/100-nodes")
		b.ReportMetric(float64(p(more, 99))/float64(p(fewer, 99)), "times-p99")
		b.ReportMetric(after-before, "MiB/100-nodes")
		b.ReportMetric((after-before)/100, "MiB/node")
		b.ReportMetric(float64(bytes)/98, "event-bytes/node")
	}
}

// BenchmarkNodesFrame measures what the loop of the screen does at a key, and at news, on a hundred nodes with fifty pods
// each, without agents beside it.
func BenchmarkNodesFrame(b *testing.B) {
	var all []fleet.Status
	for i := range 100 {
		a := &benchAgent{Agent: agenttest.Agent{About: agenttest.Info()}}
		a.asked.Store(int64(i))
		a.About.Node = fmt.Sprintf("node-%03d", i)
		answer, err := a.Pods(b.Context(), nil)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, fleet.Status{Index: i, Name: a.About.Node, State: fleet.Live, About: a.About, Pods: answer.Pods, At: time.Now()})
	}
	s := newSources(b.Context(), nil, silentFleet{}, &ending{cancel: func() {}}, Options{Lang: words.English}, wallClock)
	s.Update(tea.WindowSizeMsg{Width: 160, Height: 50})
	for name, do := range map[string]func(int){
		"key": func(i int) { s.Update(keyPress([]string{"pgdown", "down", "up"}[i%3])) },
		"news": func(i int) {
			for n := range 40 { // as many have news in a tenth of a second
				all[(40*i+n)%100].At = time.Now()
			}
			s.Update(fleetMsg{all: all})
		},
	} {
		b.Run(name, func(b *testing.B) {
			s.Update(fleetMsg{all: all})
			for i := range b.N {
				do(i)
				s.View()
			}
		})
	}
}
