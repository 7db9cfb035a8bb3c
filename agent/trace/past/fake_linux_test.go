package past

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/trace"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/agent/wire/eventtest"
)

// fakeAgent has the events that it was told to have, and carries over the first and the last of each pod, and the ends
// of calls.
type fakeAgent struct {
	info  *agentpb.InfoResponse
	start time.Time

	mu   sync.Mutex
	news chan struct{} // is closed when there are more events
	all  []*agentpb.Event
}

func newFakeAgent(node string, start time.Time) *fakeAgent {
	return &fakeAgent{
		info: &agentpb.InfoResponse{
			Version: "v0.1.0", Node: node, Started: timestamppb.New(start), Probes: []*agentpb.Probe{{Name: "woven"}},
			Steps: []*agentpb.Step{{Name: "sync.pod"}, {Name: "sync.volumes"}}, Goroutines: []string{"", "worker"},
		},
		start: start, news: make(chan struct{}),
	}
}

// happens makes an event that is so long after the agent's start.
func (a *fakeAgent) happens(after time.Duration, e *agentpb.Event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e.Seq, e.Mono, e.Time = uint64(len(a.all)+1), int64(after), a.start.Add(after).UnixNano()
	a.all = append(a.all, e)
	close(a.news)
	a.news = make(chan struct{})
}

// call makes an enter of a call of a pod and, if it takes time, an exit.
func (a *fakeAgent) call(after time.Duration, pod uint32, span uint64, took time.Duration) {
	a.happens(after, &agentpb.Event{Kind: agentpb.Kind_ENTER, Step: 1, Pod: pod, Span: span, Sync: 1})
	if took > 0 {
		a.happens(after+took, &agentpb.Event{Kind: agentpb.Kind_EXIT, Step: 1, Pod: pod, Span: span, Sync: 1, Duration: int64(took)})
	}
}

func (a *fakeAgent) tap(int) (Tap, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := &fakeTap{agent: a, began: len(a.all), next: len(a.all)}
	first := map[uint32]bool{}
	for i, e := range a.all {
		last := !slices.ContainsFunc(a.all[i+1:], func(o *agentpb.Event) bool { return o.Pod == e.Pod })
		if !first[e.Pod] || last || e.Kind == agentpb.Kind_EXIT {
			t.carried = append(t.carried, e)
		}
		first[e.Pod] = true
	}
	return t, nil
}

type fakeTap struct {
	agent   *fakeAgent
	began   int
	next    int
	carried []*agentpb.Event
	sent    map[uint32]bool
}

func (t *fakeTap) Info() *agentpb.InfoResponse { return t.agent.info }
func (t *fakeTap) Began() uint64               { return uint64(t.began) }
func (t *fakeTap) Close()                      {}

func (t *fakeTap) Carried() *agentpb.Batch {
	all := t.carried
	t.carried = nil
	return t.batch(all)
}

func (t *fakeTap) Next(ctx context.Context) (*agentpb.Batch, error) {
	for {
		t.agent.mu.Lock()
		news := t.agent.news
		t.agent.mu.Unlock()
		if b := t.Rest(^uint64(0)); b != nil {
			return b, nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (t *fakeTap) Rest(until uint64) *agentpb.Batch {
	t.agent.mu.Lock()
	defer t.agent.mu.Unlock()
	end := int(min(until, uint64(len(t.agent.all))))
	if t.next >= end {
		return nil
	}
	events := t.agent.all[t.next:min(end, t.next+500)]
	t.next += len(events)
	return t.batch(events)
}

func (t *fakeTap) batch(events []*agentpb.Event) *agentpb.Batch {
	if len(events) == 0 {
		return nil
	}
	if t.sent == nil {
		t.sent = map[uint32]bool{}
	}
	b := eventtest.Batch(events...)
	for _, e := range events {
		if e.Pod != 0 && !t.sent[e.Pod] {
			t.sent[e.Pod] = true
			b.Pods = append(b.Pods, podOf(e.Pod))
		}
	}
	return b
}

func podOf(id uint32) *agentpb.Pod {
	return &agentpb.Pod{Id: id, Namespace: "shop", Name: fmt.Sprintf("web-%d", id), Uid: fmt.Sprintf("uid-%d", id)}
}

// options are those of a recorder in a test.
func (a *fakeAgent) options(t testing.TB, dir string) Options {
	return Options{
		Dir: dir, Keep: 8 << 20, Podstep: "v0.1.0", Tap: a.tap, pause: time.Millisecond,
		Print: func(line string) { t.Log(line) },
	}
}

// start begins to record, and ends at the end of the test.
func start(t testing.TB, o Options) *Recorder {
	t.Helper()
	r, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, r) })
	return r
}

// stop waits for the recorder, also in a cleanup, where the test's context has ended: its last line goes to the test's log.
func stop(t testing.TB, r *Recorder) {
	t.Helper()
	if err := r.Stop(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
}

// story is all that a recording has.
type story struct {
	pods   map[uint32]*agentpb.Pod
	events []*agentpb.Event
	nodes  []string // of the headers, in order
}

func read(t testing.TB, dir string, c Choice) *story {
	t.Helper()
	r, err := Open(Dir(dir), c)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s := &story{pods: map[uint32]*agentpb.Pod{}}
	var about *trace.Header
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			return s
		}
		if err != nil {
			t.Fatal(err)
		}
		if h := r.Header(); h != about {
			about = h
			s.nodes = append(s.nodes, h.Info.GetNode())
		}
		for _, p := range b.Pods {
			s.pods[p.Id] = p
		}
		for _, raw := range b.Events {
			s.events = append(s.events, eventtest.Decode(t, raw))
		}
	}
}

// texts are the notes of a story.
func (s *story) texts() (out []string) {
	for _, e := range s.events {
		if e.Kind == agentpb.Kind_NOTE {
			text := wire.Fields(e.Fields)["text"]
			out = append(out, fmt.Sprint(text))
		}
	}
	return out
}

// seqs are the numbers of events, which have to go up.
func (s *story) seqs(t testing.TB) (out []uint64) {
	t.Helper()
	for i, e := range s.events {
		if i > 0 && e.Seq <= s.events[i-1].Seq {
			t.Errorf("event %d follows %d", e.Seq, s.events[i-1].Seq)
		}
		out = append(out, e.Seq)
	}
	return out
}
