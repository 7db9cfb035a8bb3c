package dap

import (
	"context"
	"encoding/json"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/agenttest"
	"github.com/podstep/podstep/agent/wire/eventtest"
)

// scripted is an agent that sends what a test gives it, and lists the holds that a test sets.
type scripted struct {
	agenttest.Agent
	batches chan *agentpb.Batch

	mu    sync.Mutex
	holds *agentpb.ListHoldsResponse
}

func (s *scripted) Watch(_ *agentpb.WatchRequest, stream grpc.ServerStreamingServer[agentpb.Batch]) error {
	for {
		select {
		case b := <-s.batches:
			if err := stream.Send(b); err != nil {
				return err
			}
		case <-stream.Context().Done():
			return nil
		}
	}
}

func (s *scripted) Pods(context.Context, *agentpb.PodsRequest) (*agentpb.PodsResponse, error) {
	return &agentpb.PodsResponse{}, nil
}

func (s *scripted) ListHolds(context.Context, *agentpb.ListHoldsRequest) (*agentpb.ListHoldsResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holds, nil
}

func (s *scripted) list(seq uint64, holds ...*agentpb.HoldInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds = &agentpb.ListHoldsResponse{Seq: seq, Holds: holds}
}

// event makes an event of the agent about one of its pods, at a step.
func (s *scripted) event(seq uint64, kind agentpb.Kind, pod uint32, step string, fields ...*agentpb.Field) *agentpb.Event {
	e := &agentpb.Event{Seq: seq, Time: time.Now().UnixNano(), Mono: int64(seq), Kind: kind, Pod: pod, Span: 100 + uint64(pod), Fields: fields}
	if step != "" {
		e.Step = eventtest.Step(s.About, step)
	}
	return e
}

// TestLostEvents: when events are lost, the session asks which pods are held. It reports the end of a hold whose event
// was lost, and shows a hold whose beginning was.
func TestLostEvents(t *testing.T) {
	s := &scripted{Agent: agenttest.Agent{About: agenttest.Info()}, batches: make(chan *agentpb.Batch, 8)}
	path := filepath.Join(t.TempDir(), "agent.sock")
	agenttest.Serve(t, s, path)
	one, two := &agentpb.Pod{Id: 1, Namespace: "default", Name: "web-1", Uid: "u1"}, &agentpb.Pod{Id: 2, Namespace: "default", Name: "web-2", Uid: "u2"}
	begin := eventtest.Batch(s.event(1, agentpb.Kind_ENTER, 1, "sync.pod"), s.event(2, agentpb.Kind_ENTER, 2, "sync.pod"))
	begin.Pods, begin.CaughtUp = []*agentpb.Pod{one, two}, true
	s.batches <- begin
	e := newEditor(t, Options{})
	e.attach("vscode", map[string]any{"pod": "*", "socket": path})
	e.do("configurationDone", nil)

	on := []*agentpb.Field{eventtest.Field("on", "enter"), eventtest.Field("why", "hold"), eventtest.Field("lease", time.Minute)}
	s.batches <- eventtest.Batch(s.event(3, agentpb.Kind_HOLD, 1, "sync.pod", on...))
	first := e.stopped().ThreadId

	// The end of the first hold and the beginning of another one are lost.
	s.list(5, &agentpb.HoldInfo{Id: 2, Pod: two, Step: "sync.pod", On: "enter", Seq: 5, Cause: agentpb.Cause_CAUSE_BREAKPOINT, Breakpoint: 9, Ends: durationpb.New(time.Minute), EndsBy: agentpb.EndsByLease})
	s.batches <- eventtest.Batch(s.event(6, agentpb.Kind_DROP, 0, ""))
	e.printed("the event that has the reason was lost")
	e.event("continued", nil)
	second := e.stopped()
	if second.ThreadId == first || second.Reason != "breakpoint" {
		t.Errorf("the stop is %+v", second)
	}
	if names, _ := e.frames(second.ThreadId); names != "sync.pod\npod default/web-2" {
		t.Errorf("the frames are %q", names)
	}
	e.refused("stackTrace", map[string]any{"threadId": first}, "is not held")

	// The event comes after all, with another: nothing is shown twice.
	s.batches <- eventtest.Batch(s.event(7, agentpb.Kind_RELEASE, 1, "sync.pod", eventtest.Field("on", "enter"), eventtest.Field("reason", "continue")))
	s.batches <- eventtest.Batch(s.event(8, agentpb.Kind_RELEASE, 2, "sync.pod", eventtest.Field("on", "enter"), eventtest.Field("reason", "timer"), eventtest.Field("timer", "volume-wait")))
	e.printed("the kubelet's timer volume-wait is about to run out")
	var body continuedBody
	e.event("continued", func(m *message) bool { return json.Unmarshal(m.Body, &body) == nil })
	if body.ThreadId != second.ThreadId || e.has("stopped") || e.has("continued") {
		t.Errorf("continued is of %d", body.ThreadId)
	}
}
