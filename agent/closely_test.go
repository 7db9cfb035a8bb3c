package agent

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
)

// closelyStream is a client's stream: came gets what the agent sends.
type closelyStream struct {
	grpc.ServerStream
	ctx  context.Context
	came chan *agentpb.WatchCloselyResponse
}

func (s closelyStream) Context() context.Context { return s.ctx }

func (s closelyStream) Send(r *agentpb.WatchCloselyResponse) error {
	s.came <- r
	return nil
}

// watchClosely watches pods closely until end is called, which returns the stream's error.
func (r *rig) watchClosely(sel *agentpb.PodSelector) (end func() error) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	s, ended := closelyStream{ctx: ctx, came: make(chan *agentpb.WatchCloselyResponse, 1)}, make(chan error, 1)
	go func() { ended <- r.svc.WatchClosely(&agentpb.WatchCloselyRequest{Pods: sel}, s) }()
	end = func() error {
		cancel()
		return <-ended
	}
	select {
	case <-s.came:
	case err := <-ended:
		ended <- err
	}
	return end
}

// closelyRig returns a rig whose first probe sees sync.configmaps only closely, and that probe.
func closelyRig(t *testing.T) (*rig, *Probe) {
	can := probes.Abilities{Probe: "uprobe", Steps: map[string]probes.Ability{
		"sync.pod":        {Entry: true, Exit: true, HoldEnter: true},
		"sync.configmaps": {Entry: true, Exit: true, HoldEnter: true, Closely: true},
	}}
	r := newRig(t, Options{Probes: []probes.Abilities{can}})
	return r, r.Probe("uprobe")
}

// refOf returns what a call shows of a pod that it is about.
func refOf(p *v1.Pod) probes.PodRef {
	return probes.PodRef{UID: string(p.UID), Namespace: p.Namespace, Name: p.Name}
}

// TestWatchClosely: the probe looks closely while a client watches a pod closely, and at that pod alone. The client's answer comes
// when the probe does.
func TestWatchClosely(t *testing.T) {
	r, p := closelyRig(t)
	web, other := newPod("default", "web"), newPod("default", "other")
	seen := func(of any) bool { return p.SeesClosely("sync.configmaps", of) }
	if p.LooksClosely() {
		t.Error("it looks closely, and nobody watches")
	}
	changes := 0
	p.OnClosely(func(context.Context) {
		if changes++; !p.LooksClosely() {
			t.Error("it is told to look closely, and nobody watches")
		}
	})
	end := r.watchClosely(&agentpb.PodSelector{Namespace: "default", Name: "web"})
	if changes != 1 || !p.LooksClosely() {
		t.Errorf("after %d changes it looks closely: %v", changes, p.LooksClosely())
	}
	r.run(web)
	if !seen(refOf(web)) || seen(refOf(other)) || seen("c1") {
		t.Error("it sees the wrong pods closely")
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	if p.LooksClosely() || seen(refOf(web)) {
		t.Error("it looks closely after the client has gone")
	}
	p.OnClosely(nil)
	if err := r.watchClosely(&agentpb.PodSelector{Uid: string(web.UID)})(); err != nil || changes != 1 {
		t.Errorf("a probe that has forgotten it is told %d times (%v)", changes, err)
	}
}

// TestWatchCloselyRefused: a client names pods, and there are not too many such clients.
func TestWatchCloselyRefused(t *testing.T) {
	r, p := closelyRig(t)
	for _, wide := range []*agentpb.PodSelector{nil, {}, {Namespace: "default"}, {Name: "*"}} {
		if err := r.watchClosely(wide)(); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%v: %v", wide, err)
		}
	}
	if err := r.watchClosely(&agentpb.PodSelector{Name: "[a"})(); status.Code(err) != codes.InvalidArgument {
		t.Errorf("a glob that cannot be read: %v", err)
	}
	var ends []func() error
	for range maxClosely {
		ends = append(ends, r.watchClosely(&agentpb.PodSelector{Name: "web"}))
	}
	if err := r.watchClosely(&agentpb.PodSelector{Name: "web"})(); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("one more than %d clients: %v", maxClosely, err)
	}
	for _, end := range ends {
		if err := end(); err != nil {
			t.Error(err)
		}
	}
	if p.LooksClosely() {
		t.Error("it looks closely after all clients have gone")
	}
}

// TestBreakpointLooksClosely: a breakpoint at a step that is seen only closely makes the probe look closely, and shows that step
// of every pod. One at another step does not.
func TestBreakpointLooksClosely(t *testing.T) {
	r, p := closelyRig(t)
	of := refOf(newPod("default", "web"))
	log := &agentpb.AddBreakpointRequest_Log{Log: &agentpb.LogAction{}}
	if _, err := r.svc.AddBreakpoint(t.Context(), &agentpb.AddBreakpointRequest{Step: "sync.pod", Action: log}); err != nil {
		t.Fatal(err)
	}
	if p.LooksClosely() {
		t.Error("it looks closely for a breakpoint at a step that is seen all the time")
	}
	changed := false
	p.OnClosely(func(context.Context) { changed = true })
	b, err := r.svc.AddBreakpoint(t.Context(), &agentpb.AddBreakpointRequest{Step: "sync.*", Action: log})
	if err != nil {
		t.Fatal(err)
	}
	if !changed || !p.LooksClosely() || !p.SeesClosely("sync.configmaps", of) {
		t.Error("it does not look closely for a breakpoint at a step that is seen only so")
	}
	if _, err := r.svc.RemoveBreakpoint(t.Context(), &agentpb.RemoveBreakpointRequest{Id: b.GetId()}); err != nil {
		t.Fatal(err)
	}
	if p.LooksClosely() || p.SeesClosely("sync.configmaps", of) {
		t.Error("it looks closely after the breakpoint has gone")
	}
}

// TestHeldLooksClosely: the probe looks closely while a pod is held at a step that is seen only so, also when the breakpoint has
// gone. Otherwise the call would end in the story while the pod is held in it.
func TestHeldLooksClosely(t *testing.T) {
	r, p := closelyRig(t)
	b, err := r.svc.AddBreakpoint(t.Context(), &agentpb.AddBreakpointRequest{Step: "sync.configmaps"})
	if err != nil {
		t.Fatal(err)
	}
	web := newPod("default", "web")
	of := refOf(web)
	call := p.Begin(Seen{Step: "sync.configmaps", At: time.Now(), Values: []any{of}, Goroutine: 7, Worker: true})
	went := make(chan error, 1)
	go func() { went <- call.Stop(t.Context()) }()
	r.held(web)
	if _, err := r.svc.RemoveBreakpoint(t.Context(), &agentpb.RemoveBreakpointRequest{Id: b.GetId()}); err != nil {
		t.Fatal(err)
	}
	if !p.LooksClosely() {
		t.Error("it looks away while the pod is held")
	}
	if _, err := r.svc.Continue(t.Context(), &agentpb.ContinueRequest{Pods: sel(web)}); err != nil {
		t.Fatal(err)
	}
	if err := <-went; err != nil || p.LooksClosely() {
		t.Errorf("after the hold (%v) it looks closely: %v", err, p.LooksClosely())
	}
}

// TestSteppedLooksClosely: the probe looks closely while a person holds or steps a pod, at that pod alone, and before the pod goes
// on. So a step by a command stops where one on the screen does, which watches the pod closely.
func TestSteppedLooksClosely(t *testing.T) {
	r, p := closelyRig(t)
	web, db := newPod("default", "web"), newPod("default", "db")
	arrive := func(step string, pod *v1.Pod) (went chan error) {
		went = make(chan error, 1)
		call := p.Begin(Seen{Step: step, At: time.Now(), Values: []any{refOf(pod)}, Goroutine: 7, Worker: true})
		go func() { went <- call.Stop(t.Context()) }()
		return went
	}
	if err := <-arrive("sync.pod", web); err != nil { // the agent knows the pod
		t.Fatal(err)
	}
	b, err := r.svc.AddBreakpoint(t.Context(), &agentpb.AddBreakpointRequest{Step: "sync.pod", Pods: sel(web)})
	if err != nil {
		t.Fatal(err)
	}
	first := arrive("sync.pod", web)
	r.held(web)
	if _, err := r.svc.RemoveBreakpoint(t.Context(), &agentpb.RemoveBreakpointRequest{Id: b.GetId()}); err != nil {
		t.Fatal(err)
	}
	if p.LooksClosely() {
		t.Error("it looks closely at what a breakpoint holds")
	}
	looked := make(chan bool, 2)
	p.OnClosely(func(context.Context) {
		looked <- p.LooksClosely() && p.SeesClosely("sync.configmaps", refOf(web)) && !p.SeesClosely("sync.configmaps", refOf(db)) && len(first) == 0
	})
	stepped := make(chan error, 1)
	go func() {
		_, err := r.svc.Step(t.Context(), &agentpb.StepRequest{Pods: sel(web), Mode: agentpb.StepMode_INTO})
		stepped <- err
	}()
	if !<-looked {
		t.Error("it does not look closely at the pod before the pod goes on")
	}
	if err := <-first; err != nil {
		t.Error(err)
	}
	next := arrive("sync.configmaps", web)
	if err := <-stepped; err != nil {
		t.Fatal(err)
	}
	if !p.LooksClosely() || !p.SeesClosely("sync.configmaps", refOf(web)) {
		t.Error("it looks away from a pod to which a person has stepped")
	}
	if _, err := r.svc.Continue(t.Context(), &agentpb.ContinueRequest{Pods: sel(web)}); err != nil {
		t.Fatal(err)
	}
	if err := <-next; err != nil || p.LooksClosely() {
		t.Errorf("after the hold (%v) it looks closely: %v", err, p.LooksClosely())
	}
}

// TestEndUnseen: a call of which nobody saw the end has an end, that is no failure and says so. A call that is in no story yet
// leaves nothing.
func TestEndUnseen(t *testing.T) {
	r, p := closelyRig(t)
	web := newPod("default", "web")
	of := refOf(web)
	now := time.Now()
	p.Begin(Seen{Step: "sync.configmaps", At: now, Values: []any{of}}).EndUnseen(now.Add(time.Second))
	var kinds []agentpb.Kind
	for _, e := range r.events("web") {
		kinds = append(kinds, e.Kind)
		if e.Kind == agentpb.Kind_EXIT && (e.Error != "" || e.Duration != 0 || len(e.Fields) != 1 || e.Fields[0].Name != probes.FieldEndUnseen) {
			t.Errorf("it ends as %v", e)
		}
	}
	if len(kinds) != 2 || kinds[0] != agentpb.Kind_ENTER || kinds[1] != agentpb.Kind_EXIT {
		t.Errorf("the story has %v", kinds)
	}
	(*Call)(nil).EndUnseen(now)
}
