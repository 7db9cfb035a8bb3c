package agent

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	v1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/agentpb"
)

// TestLimits: a request for more than the agent grants is refused, with the limit in the sentence.
func TestLimits(t *testing.T) {
	r := newRig(t, Options{})
	p := newPod("default", "web")
	r.pods.Object(p)
	year, never := durationpb.New(365*24*time.Hour), &durationpb.Duration{Seconds: -1}
	hold := func(d *durationpb.Duration) *agentpb.AddBreakpointRequest {
		return &agentpb.AddBreakpointRequest{Step: "sync.pod", Action: &agentpb.AddBreakpointRequest_Hold{Hold: &agentpb.HoldAction{Lease: d}}}
	}
	for what, ask := range map[string]struct {
		limit string
		ask   func(d *durationpb.Duration) error
	}{
		"lease of a hold": {"1h0m0s", func(d *durationpb.Duration) error {
			_, err := r.svc.Hold(t.Context(), &agentpb.HoldRequest{Pods: sel(p), Lease: d})
			return err
		}},
		"wait of a hold": {"1h0m0s", func(d *durationpb.Duration) error {
			_, err := r.svc.Hold(t.Context(), &agentpb.HoldRequest{Pods: sel(p), Wait: d})
			return err
		}},
		"lease of a breakpoint": {"1h0m0s", func(d *durationpb.Duration) error {
			_, err := r.addBreakpoint(hold(d))
			return err
		}},
		"life of a breakpoint": {"24h0m0s", func(d *durationpb.Duration) error {
			_, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Step: "sync.pod", Expires: d})
			return err
		}},
		"delay": {"10m0s", func(d *durationpb.Duration) error {
			_, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Step: "sync.pod", Action: &agentpb.AddBreakpointRequest_Delay{Delay: d}})
			return err
		}},
	} {
		if err := ask.ask(year); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), ask.limit) {
			t.Errorf("%s of a year: %v, want a refusal that says %s", what, err, ask.limit)
		}
		if err := ask.ask(never); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s of less than nothing: %v", what, err)
		}
	}
	if n := len(r.points.List()); n != 0 || r.holds.Armed() != 0 {
		t.Errorf("%d breakpoints are there, %d armed", n, r.holds.Armed())
	}
	info, err := r.svc.Info(t.Context(), &agentpb.InfoRequest{})
	if err != nil || info.Limits.Lease.AsDuration() != time.Hour || info.Limits.Holds != 16 {
		t.Errorf("the agent says its limits are %v, %v", info.GetLimits(), err)
	}
}

// TestHoldsAtOnce: a breakpoint for any pod holds as many as may be held at one
// time. The others pass, and the breakpoint says how many.
func TestHoldsAtOnce(t *testing.T) {
	r := newRig(t, Options{})
	b, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Step: "sync.pod"})
	if err != nil {
		t.Fatal(err)
	}
	most := int(nodeLimits.holds)
	var running sync.WaitGroup
	pods := make([]*v1.Pod, most)
	for i := range pods {
		pods[i] = newPod("default", fmt.Sprintf("p%d", i))
		running.Go(func() { _ = r.sync(pods[i], nil) })
	}
	for _, p := range pods {
		r.held(p)
	}
	late := newPod("default", "late")
	_ = r.sync(late, nil) // would hang if it were held
	_ = r.sync(late, nil)
	if got := r.points.Proto(r.points.List()[0]); got.Id != b.Id || got.Missed != 2 {
		t.Errorf("the breakpoint says %v, want 2 missed", got)
	}
	if r.kinds(late, agentpb.Kind_NOTE) != 1 {
		t.Error("the story of the pod that passed does not say so once")
	}
	_, err = r.svc.Hold(t.Context(), &agentpb.HoldRequest{Pods: sel(late)})
	if status.Code(err) != codes.ResourceExhausted || !strings.Contains(err.Error(), fmt.Sprint(most)) {
		t.Errorf("one more hold: %v", err)
	}
	r.points.Clear()
	r.releaseAll("continue")
	running.Wait()
	if n := r.reserveAll(); n != r.limits().holds {
		t.Errorf("there is room for %d holds, want %d", n, r.limits().holds)
	}
}

// reserveAll reserves room for holds until there is no more, and returns for how many it was.
func (r *rig) reserveAll() (n int32) {
	for r.holds.Reserve() {
		n++
	}
	return n
}

// TestReadOnly: a read-only agent does nothing to a pod, whoever asks.
func TestReadOnly(t *testing.T) {
	r := newRig(t, Options{ReadOnly: true})
	p := newPod("default", "web")
	_ = r.sync(p, nil)
	asks := map[string]error{}
	_, asks["hold"] = r.svc.Hold(t.Context(), &agentpb.HoldRequest{Pods: sel(p), Force: true})
	asks["hold while"] = r.svc.HoldWhile(&agentpb.HoldRequest{Pods: sel(p)}, holdStream{ctx: t.Context()})
	_, asks["step"] = r.svc.Step(t.Context(), &agentpb.StepRequest{Pods: sel(p)})
	_, asks["breakpoint"] = r.svc.AddBreakpoint(t.Context(), &agentpb.AddBreakpointRequest{Step: "sync.pod", Force: true})
	_, asks["fault"] = r.svc.AddBreakpoint(t.Context(), &agentpb.AddBreakpointRequest{Step: "cri.*", Action: &agentpb.AddBreakpointRequest_Fail{Fail: "no"}})
	for what, err := range asks {
		if status.Code(err) != codes.PermissionDenied {
			t.Errorf("%s: %v", what, err)
		}
	}
	if st, err := r.svc.Pods(t.Context(), &agentpb.PodsRequest{}); err != nil || len(st.Pods) != 1 {
		t.Errorf("who looks sees %v, %v", st, err)
	}
	if info, err := r.svc.Info(t.Context(), &agentpb.InfoRequest{}); err != nil || !info.ReadOnly {
		t.Errorf("a client gets no such error: %v", err)
	}
}

type holdStream struct {
	grpc.ServerStreamingServer[agentpb.HoldInfo]
	ctx context.Context
}

func (s holdStream) Context() context.Context { return s.ctx }

// TestDiffers: no pod is held in a function that differs from the catalogue's, nor in what it calls.
func TestDiffers(t *testing.T) {
	r := newRig(t, Options{Differs: map[string]bool{"rt.sync": true}})
	p := newPod("default", "web")
	if _, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Step: "rt.sync"}); err == nil || !strings.Contains(err.Error(), "function is not the one of") {
		t.Errorf("a breakpoint at a function that differs: %v", err)
	}
	if _, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Step: "rt.compute"}); err != nil {
		t.Fatal(err)
	}
	compute := func() error { return r.call("rt.compute", []any{p}, nil, nil) }
	_ = r.sync(p, func() error { return r.call("rt.sync", []any{p}, nil, compute) }) // would hang if it were held
	done := make(chan struct{})
	go func() { defer close(done); _ = r.sync(p, compute) }()
	r.held(p).Release("continue")
	<-done
}

// TestWhoAsked: a hold, a fault and a release say which process asked for them.
func TestWhoAsked(t *testing.T) {
	r := newRig(t, Options{})
	p := newPod("default", "web")
	r.pods.Object(p)
	client, _ := r.serve()()
	self := fmt.Sprintf("%d %d", os.Getuid(), os.Getpid())
	point, err := client.AddBreakpoint(t.Context(), &agentpb.AddBreakpointRequest{Pods: sel(p), Step: "sync.pod"})
	if err != nil || fmt.Sprint(point.Peer.GetUid(), " ", point.Peer.GetPid()) != self {
		t.Fatalf("the breakpoint is of %v, %v", point.GetPeer(), err)
	}
	fail := &agentpb.AddBreakpointRequest_Fail{Fail: "no"}
	if _, err := client.AddBreakpoint(t.Context(), &agentpb.AddBreakpointRequest{Step: "cri.StartContainer", Action: fail}); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = r.sync(p, func() error { return r.call("cri.StartContainer", []any{"c"}, nil, nil) })
	}()
	if h := r.held(p).Proto(); fmt.Sprint(h.Peer.GetUid(), " ", h.Peer.GetPid()) != self {
		t.Errorf("the hold is of %v", h.Peer)
	}
	if _, err := client.Continue(t.Context(), &agentpb.ContinueRequest{Pods: sel(p)}); err != nil {
		t.Fatal(err)
	}
	<-done
	peers := map[agentpb.Kind]string{}
	for _, e := range r.events("web") {
		by := map[string]int64{}
		for _, f := range e.Fields {
			by[f.Name] = f.GetNumber()
		}
		peers[e.Kind] = fmt.Sprint(by["uid"], " ", by["pid"])
	}
	for _, kind := range []agentpb.Kind{agentpb.Kind_HOLD, agentpb.Kind_FAULT, agentpb.Kind_RELEASE} {
		if peers[kind] != self {
			t.Errorf("%s says %q, want %q", kind, peers[kind], self)
		}
	}
}

func durationOf(d time.Duration) *durationpb.Duration { return durationpb.New(d) }
