package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/canary"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/trace/past"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/hook"
)

// swept is an agent whose pods have secrets wherever they may have them, and one of whose pods is held.
type swept struct {
	*rig
	set        *canary.Set
	held, busy *v1.Pod
	client     agentpb.AgentClient
	point      uint32 // of a breakpoint
}

// leaky returns a pod with secrets.
func leaky(set *canary.Set, name string) *v1.Pod {
	p := newPod("default", name)
	p.Labels = map[string]string{"password": set.Value("label")}
	p.Annotations = map[string]string{"example.com/note": set.Value("annotation")}
	p.Spec.Containers = []v1.Container{{
		Name: "app", Image: "robot:" + set.Value("image") + "@registry.example/app", Command: []string{"run", set.Value("command")}, Args: []string{set.Value("argument")},
		Env: []v1.EnvVar{{Name: "A", Value: set.Value("env")}},
	}}
	p.Spec.Volumes = []v1.Volume{{Name: "a", VolumeSource: v1.VolumeSource{CSI: &v1.CSIVolumeSource{VolumeAttributes: map[string]string{"a": set.Value("volume attribute")}}}}}
	p.Status.Message = "password=" + set.Value("status")
	return p
}

func newSwept(t *testing.T) *swept {
	t.Helper()
	set := canary.NewSet()
	leak := "token=" + set.Value("text")
	r := newRig(t, Options{Probes: seesAll(), Node: "user:" + set.Value("node") + "@node"})
	s := &swept{rig: r, set: set, held: leaky(set, "held"), busy: leaky(set, "busy")}
	r.probes[0].State(agentpb.ProbeState_PROBE_RETRYING, unheld.With("step", leak))
	r.probes[0].State(agentpb.ProbeState_PROBE_RUNNING, probes.Reason{})
	at := Found{0x4711, &agentpb.StackFrame{Function: leak, File: leak, Line: 1}}
	variable := []*agentpb.Variable{{Name: leak, Type: leak, Value: leak}}
	r.probes[0].OnDebug(&Debugger{
		Look: func(context.Context, uint64, *agentpb.LookRequest) (*agentpb.LookResponse, error) {
			return &agentpb.LookResponse{Arguments: variable, Locals: variable, Value: variable[0], Frames: []*agentpb.StackFrame{at.Frame}, Without: leak, Goroutines: []*agentpb.Goroutine{{Id: 1, Step: leak}}}, nil
		},
		Find:   func(context.Context, string) ([]Found, error) { return []Found{at}, nil },
		Step:   func(context.Context, uint64, agentpb.StepMode) error { return nil },
		Forget: func(uint64) {},
	})
	s.client, _ = r.serve()()
	if _, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Pods: sel(s.held), At: "kubelet.go:1"}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Step: "*", On: agentpb.On_ON_ERROR, Action: snapshot}); err != nil {
		t.Fatal(err)
	}
	loop := r.Begin(Seen{Step: "worker.loop", At: time.Now(), Values: []any{string(s.held.UID)}, Goroutine: 7, Worker: true})
	call := r.Begin(Seen{Step: "sync.pod", At: time.Now(), Values: []any{s.held, leak}, Goroutine: 7, Worker: true, Parent: loop})
	go call.StopInside(t.Context(), at)
	r.held(s.held)
	s.work(t, leak)
	return s
}

// work makes turns of a pod's worker that fail, until the test ends.
func (s *swept) work(t *testing.T, leak string) {
	ctx, done := t.Context(), make(chan struct{})
	t.Cleanup(func() { s.Agent.Close(); <-done })
	sandbox := &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: "busy", Namespace: "default", Uid: string(s.busy.UID)}, Labels: s.busy.Labels, Annotations: s.busy.Annotations,
	}
	var endBackOff hook.BackOff = func() (bool, int64) { return true, 0 }
	var do syncNow = func(string) string { return "" }
	s.syncNow.Store(&do)
	turn := func() error {
		return s.call("sync.pod", []any{s.busy, leak}, []any{false}, func() error {
			_ = s.call("rt.backoff", []any{s.busy, leak, endBackOff}, nil, nil)
			_ = s.call("cri.RunPodSandbox", []any{sandbox, sandbox, leak}, []any{"sandbox1"}, func() error { return errors.New(leak) })
			return errors.New(leak)
		})
	}
	go func() {
		defer close(done)
		_ = s.call("worker.loop", []any{s.busy.UID}, nil, func() error {
			for ctx.Err() == nil {
				_ = s.call("worker.turn", nil, nil, turn)
			}
			return nil
		})
	}()
}

// requests are what a client can ask for: each request by its name in the protocol. They are made in this order.
var requests = []struct {
	name string
	ask  func(ctx context.Context, s *swept) ([]proto.Message, error)
}{
	{"Info", func(ctx context.Context, s *swept) ([]proto.Message, error) {
		return one(s.client.Info(ctx, &agentpb.InfoRequest{}))
	}},
	{"Pods", func(ctx context.Context, s *swept) ([]proto.Message, error) {
		return one(s.client.Pods(ctx, &agentpb.PodsRequest{}))
	}},
	{"Stats", func(ctx context.Context, s *swept) ([]proto.Message, error) {
		return one(s.client.Stats(ctx, &agentpb.StatsRequest{}))
	}},
	{"AddBreakpoint", func(ctx context.Context, s *swept) ([]proto.Message, error) {
		b, err := s.client.AddBreakpoint(ctx, &agentpb.AddBreakpointRequest{
			Pods: &agentpb.PodSelector{Namespace: "none"}, Step: "sync.pod", Action: &agentpb.AddBreakpointRequest_Fail{Fail: "password=" + s.set.Value("fault")},
		})
		s.point = b.GetId()
		return one(b, err)
	}},
	{"ListBreakpoints", func(ctx context.Context, s *swept) ([]proto.Message, error) {
		return one(s.client.ListBreakpoints(ctx, &agentpb.ListBreakpointsRequest{}))
	}},
	{"RemoveBreakpoint", func(ctx context.Context, s *swept) ([]proto.Message, error) {
		return one(s.client.RemoveBreakpoint(ctx, &agentpb.RemoveBreakpointRequest{Id: s.point}))
	}},
	{"Look", func(ctx context.Context, s *swept) ([]proto.Message, error) {
		return one(s.client.Look(ctx, &agentpb.LookRequest{Pods: sel(s.held), Expression: "pod"}))
	}},
	{"ListHolds", func(ctx context.Context, s *swept) ([]proto.Message, error) {
		return one(s.client.ListHolds(ctx, &agentpb.ListHoldsRequest{}))
	}},
	{"Retry", func(ctx context.Context, s *swept) ([]proto.Message, error) {
		return one(s.client.Retry(ctx, &agentpb.RetryRequest{Pods: sel(s.busy), Message: "password=" + s.set.Value("retry"), Wait: durationOf(time.Minute)}))
	}},
	{"Hold", func(ctx context.Context, s *swept) ([]proto.Message, error) {
		return one(s.client.Hold(ctx, &agentpb.HoldRequest{Pods: sel(s.busy), Wait: durationOf(time.Minute)}))
	}},
	{"Step", func(ctx context.Context, s *swept) ([]proto.Message, error) {
		return one(s.client.Step(ctx, &agentpb.StepRequest{Pods: sel(s.busy), Mode: agentpb.StepMode_NEXT_CRI, Wait: durationOf(time.Minute)}))
	}},
	{"Continue", func(ctx context.Context, s *swept) ([]proto.Message, error) {
		return one(s.client.Continue(ctx, &agentpb.ContinueRequest{Pods: sel(s.busy)}))
	}},
	{"HoldWhile", func(ctx context.Context, s *swept) ([]proto.Message, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := s.client.HoldWhile(ctx, &agentpb.HoldRequest{Pods: sel(s.busy), Wait: durationOf(time.Minute)})
		if err != nil {
			return nil, err
		}
		return one(stream.Recv())
	}},
	{"Watch", func(ctx context.Context, s *swept) ([]proto.Message, error) {
		stream, err := s.client.Watch(ctx, &agentpb.WatchRequest{OnlyHistory: true, Node: true})
		if err != nil {
			return nil, err
		}
		return received(stream.Recv)
	}},
	{"WatchClosely", func(ctx context.Context, s *swept) ([]proto.Message, error) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		stream, err := s.client.WatchClosely(ctx, &agentpb.WatchCloselyRequest{Pods: sel(s.busy)})
		if err != nil {
			return nil, err
		}
		return one(stream.Recv())
	}},
	{"Segments", func(ctx context.Context, s *swept) ([]proto.Message, error) { return s.listed(ctx) }},
	{"ReadSegment", func(ctx context.Context, s *swept) ([]proto.Message, error) { return s.readPast(ctx) }},
}

// recorded is a record directory of an agent in a test.
type recorded struct{ past.Dir }

func (r recorded) Stats() *agentpb.RecordDir { return &agentpb.RecordDir{Dir: r.String()} }

// record records what the agent has seen, and serves it.
func (s *swept) record(t *testing.T) {
	t.Helper()
	dir := past.Dir(t.TempDir())
	r, err := past.Start(past.Options{
		Dir: string(dir), Keep: past.MinKeep, Print: func(line string) { t.Log(line) },
		Tap: func(carried int) (past.Tap, error) { return s.Agent.Tap(carried) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Agent.ServeRecord(recorded{dir})
}

// listed returns the segments that the agent lists.
func (s *swept) listed(ctx context.Context) ([]proto.Message, error) {
	stream, err := s.client.Segments(ctx, &agentpb.SegmentsRequest{Pods: &agentpb.PodSelector{}})
	if err != nil {
		return nil, err
	}
	return received(stream.Recv)
}

// received returns all messages of a stream.
func received[M proto.Message](receive func() (M, error)) (out []proto.Message, err error) {
	for {
		m, err := receive()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, m)
	}
}

// readPast returns the events of the segments that the agent sends: the bytes themselves are packed.
func (s *swept) readPast(ctx context.Context) (out []proto.Message, err error) {
	r, err := past.Open(&past.Asked{Context: ctx, Name: "the record", Agent: s.client}, past.Choice{Context: true})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
}

func one[M proto.Message](m M, err error) ([]proto.Message, error) { return []proto.Message{m}, err }

// empty are the requests whose answer may have nothing in it.
var empty = map[string]bool{"Continue": true, "WatchClosely": true}

// TestEveryRequest makes each request of the protocol to an agent with secrets everywhere. No answer shows one.
func TestEveryRequest(t *testing.T) {
	s := newSwept(t)
	s.record(t)
	asked := map[string]bool{}
	for _, q := range requests {
		asked[q.name] = true
		answers, err := q.ask(t.Context(), s)
		if err != nil {
			t.Errorf("%s: %v", q.name, err)
		}
		for _, m := range answers {
			b, err := proto.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			if found := s.set.Find(b); found != nil {
				t.Errorf("the answer to %s shows %v", q.name, found)
			}
		}
		if len(answers) == 0 || proto.Size(answers[0]) == 0 && !empty[q.name] {
			t.Errorf("%s is answered with nothing", q.name)
		}
	}
	methods := agentpb.File_agent_proto.Services().ByName("Agent").Methods()
	for i := range methods.Len() {
		if name := string(methods.Get(i).Name()); !asked[name] {
			t.Errorf("the request %s is new: put it into the list of requests", name)
		}
	}
	_, err := s.client.Look(t.Context(), &agentpb.LookRequest{Pods: &agentpb.PodSelector{Name: "token=" + s.set.Value("name")}})
	if found := s.set.FindString(fmt.Sprint(err, reason.ProblemOf(err))); err == nil || found != nil {
		t.Errorf("the error shows %v: %v", found, err)
	}
}
