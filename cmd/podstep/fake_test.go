package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path"
	"sync"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/agenttest"
	"github.com/podstep/podstep/agent/wire/eventtest"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// fakeAgent is an agent with a few pods whose stories never change:
//
//	default/web     has been created; gets ready when somebody watches
//	shop/db-0       is held
//	old/gone        is remembered to have been deleted, and was made again
//	old/away        is remembered to have been deleted
//	one/twin, two/twin
type fakeAgent struct {
	agenttest.Agent
	mu     sync.Mutex
	ready  bool
	others int32 // clients but the one that asks
}

func newFakeAgent() *fakeAgent {
	info := agenttest.Info()
	info.You = &agentpb.Peer{Uid: fakeUser, Pid: 7}
	info.Version, info.Pid = "v0.0.9", 42
	return &fakeAgent{Agent: agenttest.Agent{
		About: info, Steps: []string{"sync.pod", "loop.add"},
		Refused: []*agentpb.Refused{{Step: "merge.Merge", Problem: &agentpb.Problem{Code: agentpb.Problem_STEP_RULE, Args: map[string]string{"step": "merge.Merge"}}}},
	}}
}

var (
	web  = &agentpb.Pod{Id: 1, Namespace: "default", Name: "web", Uid: "u-web"}
	db   = &agentpb.Pod{Id: 2, Namespace: "shop", Name: "db-0", Uid: "u-db"}
	gone = &agentpb.Pod{Id: 3, Namespace: "old", Name: "gone", Uid: "u-gone"}
	back = &agentpb.Pod{Id: 4, Namespace: "old", Name: "gone", Uid: "u-back"}
	away = &agentpb.Pod{Id: 5, Namespace: "old", Name: "away", Uid: "u-away"}
	one  = &agentpb.Pod{Id: 6, Namespace: "one", Name: "twin", Uid: "u-one"}
	two  = &agentpb.Pod{Id: 7, Namespace: "two", Name: "twin", Uid: "u-two"}
	evil = &agentpb.Pod{Id: 8, Namespace: "evil", Name: "esc\x1b[2J\u009b\u202ex", Uid: "u-evil"}
)

func (f *fakeAgent) match(sel *agentpb.PodSelector, pods ...*agentpb.Pod) (out []*agentpb.Pod) {
	for _, p := range pods {
		if (sel.GetName() == "" || sel.GetName() == p.Name) && (sel.GetNamespace() == "" || sel.GetNamespace() == p.Namespace) {
			out = append(out, p)
		}
	}
	return out
}

func (f *fakeAgent) Pods(_ context.Context, r *agentpb.PodsRequest) (*agentpb.PodsResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	answer := &agentpb.PodsResponse{}
	for _, p := range f.match(r.Pods, web, db, back, one, two, evil) {
		s := &agentpb.PodState{Pod: p, Phase: "Running", State: "waiting", Stage: "syncpod", Step: "sync.pod", Since: timestamppb.New(time.Unix(1e9, 0))}
		switch p {
		case web:
			s.Ready = f.ready
		case db:
			s.State, s.Holds = "held", []*agentpb.HoldInfo{hold(db)}
		}
		answer.Pods = append(answer.Pods, s)
	}
	return answer, nil
}

func hold(p *agentpb.Pod) *agentpb.HoldInfo {
	return &agentpb.HoldInfo{
		Id: 3, Pod: p, Step: "cri.RunPodSandbox", Stage: "cri", On: "enter", Cause: agentpb.Cause_CAUSE_HOLD,
		Since: timestamppb.New(time.Unix(1e9, 0)), Lease: durationpb.New(5*time.Minute - time.Second),
		Ends: durationpb.New(5*time.Minute - time.Second), EndsBy: agentpb.EndsByLease,
		Fields: []*agentpb.Field{eventtest.Field("attempt", 1)},
	}
}

func (f *fakeAgent) Watch(r *agentpb.WatchRequest, s grpc.ServerStreamingServer[agentpb.Batch]) error {
	var pods []*agentpb.Pod
	var events [][]byte
	for _, p := range f.match(r.Pods, web, gone, away, evil) {
		pods = append(pods, p)
		events = append(events, f.story(p)...)
	}
	if r.History {
		if err := s.Send(&agentpb.Batch{Pods: pods, Events: events}); err != nil {
			return err
		}
	}
	if r.OnlyHistory {
		return nil
	}
	if err := s.Send(&agentpb.Batch{Pods: pods, CaughtUp: true}); err != nil {
		return err
	}
	if len(f.match(r.Pods, web)) > 0 {
		patch := f.event(100, agentpb.Kind_EXIT, "status.patch", web, 9, 0, 2e6)
		if err := s.Send(eventtest.Batch(patch)); err != nil {
			return err
		}
		f.mu.Lock()
		f.ready = true
		f.mu.Unlock()
	}
	<-s.Context().Done()
	return nil
}

func (f *fakeAgent) story(p *agentpb.Pod) [][]byte {
	ms := int64(time.Millisecond)
	if p == gone || p == away {
		return [][]byte{eventtest.Encode(f.event(9, agentpb.Kind_EXIT, "loop.remove", p, 9, 0, ms))}
	}
	failed := f.event(6, agentpb.Kind_EXIT, "sync.volumes", p, 3, 2, 40*ms)
	failed.Error = "no\x1b[31mvolume"
	create := f.event(1, agentpb.Kind_ENTER, "sync.pod", p, 2, 0, 0)
	create.Fields = []*agentpb.Field{eventtest.Field("updateType", "create")}
	return [][]byte{
		eventtest.Encode(create),
		eventtest.Encode(f.event(2, agentpb.Kind_ENTER, "sync.dirs", p, 4, 2, 0)),
		eventtest.Encode(f.event(3, agentpb.Kind_EXIT, "sync.dirs", p, 4, 2, 1500000)),
		eventtest.Encode(f.event(4, agentpb.Kind_ENTER, "sync.volumes", p, 3, 2, 0)),
		eventtest.Encode(f.event(5, agentpb.Kind_HOLD, "sync.volumes", p, 3, 2, 0)),
		eventtest.Encode(f.event(5, agentpb.Kind_RELEASE, "sync.volumes", p, 3, 2, 30*ms)),
		eventtest.Encode(failed),
		eventtest.Encode(f.event(7, agentpb.Kind_EXIT, "sync.pod", p, 2, 0, 60*ms)),
	}
}

func (f *fakeAgent) event(seq uint64, kind agentpb.Kind, step string, p *agentpb.Pod, span, parent uint64, took int64) *agentpb.Event {
	return &agentpb.Event{
		Seq: seq, Time: 1e18 + int64(seq)*10*int64(time.Millisecond), Mono: int64(seq) * 10 * int64(time.Millisecond), Kind: kind, Step: eventtest.Step(f.About, step),
		Pod: p.Id, Span: span, Parent: parent, Sync: 1, Duration: took,
	}
}

// single finds the one pod of a request, as every agent does.
func (f *fakeAgent) single(sel *agentpb.PodSelector) (*agentpb.Pod, error) {
	switch pods := f.match(sel, web, db, one, two); len(pods) {
	case 0:
		return nil, status.Errorf(codes.NotFound, "no pod %s on this node; see podstep pods", sel.Name)
	case 1:
		return pods[0], nil
	default:
		return nil, status.Errorf(codes.InvalidArgument, "%d pods are called %s; name the namespace", len(pods), sel.Name)
	}
}

func (f *fakeAgent) Hold(_ context.Context, r *agentpb.HoldRequest) (*agentpb.HoldInfo, error) {
	p, err := f.single(r.Pods)
	if err != nil {
		return nil, err
	}
	h := hold(p)
	h.Message = r.Message
	if r.Lease != nil {
		h.Lease, h.Ends = r.Lease, r.Lease
	}
	return h, nil
}

func (f *fakeAgent) Retry(_ context.Context, r *agentpb.RetryRequest) (*agentpb.RetryResponse, error) {
	p, err := f.single(r.Pods)
	if err != nil {
		return nil, err
	}
	volumes := &agentpb.Field{Name: "volume", Value: &agentpb.Field_Json{Json: `["data","logs"]`}}
	return &agentpb.RetryResponse{Pod: p, Sync: 4, Ended: &agentpb.EndedBackOff{Step: "vol.mount", Of: volumes}}, nil
}

func (f *fakeAgent) HoldWhile(r *agentpb.HoldRequest, s grpc.ServerStreamingServer[agentpb.HoldInfo]) error {
	h, err := f.Hold(s.Context(), r)
	if err != nil {
		return err
	}
	return s.Send(h)
}

func (f *fakeAgent) Step(_ context.Context, r *agentpb.StepRequest) (*agentpb.HoldInfo, error) {
	p, err := f.single(r.Pods)
	if err != nil {
		return nil, err
	}
	h := hold(p)
	h.Cause = agentpb.Cause_CAUSE_STEP
	for name, v := range map[string]string{"mode": r.Mode.String(), "until": r.Until} {
		h.Fields = append(h.Fields, eventtest.Field(name, v))
	}
	if r.Mode == agentpb.StepMode_NEXT_CRI {
		h.Fields = append(h.Fields, eventtest.Field("request", json.RawMessage(`{"metadata":{"name":"web","namespace":"default","uid":"u-web"},"logDirectory":"/var/log/pods/default_web_u-web"}`)))
	}
	if r.Until == "loop.add" {
		h.Step, h.Stage, h.Node = "loop.add", "syncloop", true
	}
	h.Budget = &agentpb.Budget{Timer: "volume-wait", Left: durationpb.New(time.Minute)}
	h.Ends, h.EndsBy = h.Budget.Left, h.Budget.Timer
	return h, nil
}

// held answers for the one pod that is held if a request of many holds means it.
func held(sel *agentpb.PodSelector, step string, uid *uint32) []*agentpb.HoldInfo {
	h := hold(db)
	h.Peer, h.Message = &agentpb.Peer{Uid: fakeUser, Pid: 7}, "reading its volumes"
	at, err := path.Match(step, h.Step)
	if len(sel.GetLabels()) > 0 || !sel.Selects(db.Namespace, db.Name) || step != "" && (!at || err != nil) || uid != nil && *uid != fakeUser {
		return nil
	}
	return []*agentpb.HoldInfo{h}
}

// fakeUser is the user as whom the agent sees the test.
const fakeUser = 1234

func (f *fakeAgent) ListHolds(_ context.Context, r *agentpb.ListHoldsRequest) (*agentpb.ListHoldsResponse, error) {
	return &agentpb.ListHoldsResponse{Holds: held(r.Pods, r.Step, r.Uid)}, nil
}

func (f *fakeAgent) Continue(_ context.Context, r *agentpb.ContinueRequest) (*agentpb.ContinueResponse, error) {
	if r.All {
		return &agentpb.ContinueResponse{Released: held(r.Pods, r.Step, r.Uid)}, nil
	}
	p, err := f.single(r.Pods)
	if err != nil || p != db {
		return &agentpb.ContinueResponse{}, err
	}
	return &agentpb.ContinueResponse{Released: []*agentpb.HoldInfo{hold(db)}}, nil
}

// fakeCollector takes all spans.
type fakeCollector struct {
	collectorpb.UnimplementedTraceServiceServer
}

func (fakeCollector) Export(context.Context, *collectorpb.ExportTraceServiceRequest) (*collectorpb.ExportTraceServiceResponse, error) {
	return &collectorpb.ExportTraceServiceResponse{}, nil
}

func serveCollector(t testing.TB) (endpoint string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	collectorpb.RegisterTraceServiceServer(s, fakeCollector{})
	go s.Serve(l)
	t.Cleanup(s.Stop)
	return "grpc://" + l.Addr().String()
}

// serveCollectorHTTP serves the same collector over HTTP.
func serveCollectorHTTP(t testing.TB) (endpoint string) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in := &collectorpb.ExportTraceServiceRequest{}
		body, err := io.ReadAll(r.Body)
		if err := errors.Join(err, proto.Unmarshal(body, in)); err != nil || r.URL.Path != "/v1/traces" {
			http.Error(w, "not OTLP", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(s.Close)
	return s.URL
}
