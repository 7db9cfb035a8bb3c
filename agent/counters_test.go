package agent

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/podstep/podstep/agent/agentpb"
)

// TestCounters: holds, delays and failures are counted separately, and a hold counts while it goes on.
func TestCounters(t *testing.T) {
	r := newRig(t, Options{})
	p := newPod("default", "web")
	run := func() error { return r.sync(p, nil) }
	once := func(spec *agentpb.AddBreakpointRequest) {
		t.Helper()
		spec.Pods, spec.Step, spec.Times = sel(p), "sync.pod", 1
		if _, err := r.addBreakpoint(spec); err != nil {
			t.Fatal(err)
		}
	}
	once(&agentpb.AddBreakpointRequest{Action: &agentpb.AddBreakpointRequest_Fail{Fail: "no"}})
	if run() == nil {
		t.Error("it does not fail")
	}
	once(&agentpb.AddBreakpointRequest{Action: &agentpb.AddBreakpointRequest_Delay{Delay: durationpb.New(time.Millisecond)}})
	_ = run()
	once(&agentpb.AddBreakpointRequest{Action: &agentpb.AddBreakpointRequest_Hold{Hold: &agentpb.HoldAction{Lease: durationpb.New(time.Hour)}}})
	done := make(chan struct{})
	go func() { defer close(done); _ = run() }()
	h := r.held(p)
	during := r.Counters()
	if during.Holds != 1 || during.HoldsNow != 1 || during.Held <= 0 || during.Fails != 1 || during.Delays != 1 || during.Events == 0 {
		t.Errorf("while a pod is held: %+v", during)
	}
	h.Release(agentpb.ReleaseContinue)
	<-done
	if after := r.Counters(); after.Holds != 1 || after.HoldsNow != 0 || after.Held < during.Held {
		t.Errorf("then: %+v", after)
	}
	r.Lost(3)
	for r.Counters().Lost["enter"] != 3 {
		r.settle()
	}
}
