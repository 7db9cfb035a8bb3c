package agent

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/holding"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

func sandboxOf(p *v1.Pod) *runtimeapi.PodSandboxConfig {
	return &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Namespace: p.Namespace, Name: p.Name, Uid: string(p.UID)},
		Labels:   map[string]string{"app": "web", "io.kubernetes.pod.name": p.Name},
	}
}

// run begins a RunPodSandbox that is seen from outside.
func (r *rig) run(p *v1.Pod) *Call {
	return r.Begin(Seen{Step: "cri.RunPodSandbox", At: time.Now(), Values: []any{sandboxOf(p), sandboxOf(p), "runc"}})
}

func (r *rig) stateOf(p *v1.Pod) *agentpb.PodState {
	r.settle()
	return r.state(r.pods.Known(string(p.UID)))
}

// TestWhoSees: Info says what each probe can do at each step, and what all that have not failed can do together.
func TestWhoSees(t *testing.T) {
	why := unheld.With("step", "x")
	seen := func(name string, step string) probes.Abilities {
		return probes.Abilities{Probe: name, Steps: map[string]probes.Ability{step: {Entry: true}}, NotSeen: why}
	}
	all := append(seesAll("sync.pod")[:1], seen("api", "cluster.bound"), seen("kubelet", "sync.pod"))
	delete(all[0].Steps, "cluster.bound")
	r := newRig(t, Options{Probes: all})
	step := func(name string) *agentpb.Step {
		t.Helper()
		info, err := r.svc.Info(context.Background(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(info.Probes) != 3 || info.Probes[0].Name != "woven" || info.Probes[1].Name != "api" {
			t.Errorf("the probes are %v", info.Probes)
		}
		return info.Steps[r.c.Step(name).ID]
	}
	bound, pod := step("cluster.bound"), step("sync.pod")
	if len(bound.Abilities) != 2 || bound.Abilities[0].Unseen != nil && bound.Abilities[0].Probe != 1 {
		t.Errorf("of cluster.bound it says %v", bound)
	}
	if pod.HoldEnter != "no" || len(pod.Abilities) != 3 || pod.Abilities[2].HoldEnter != "no" {
		t.Errorf("of sync.pod it says %v", pod)
	}
	r.Probe("api").State(agentpb.ProbeState_PROBE_FAILED, why)
	if why := wire.Unseen(r.info(), step("cluster.bound")).En; !strings.Contains(why, "has failed: not at x") {
		t.Errorf("of cluster.bound it says, of a probe that has failed, %q", why)
	}
}

func TestOutsideCallIsAStory(t *testing.T) {
	r := newRig(t, Options{})
	p := newPod("default", "web")
	c := r.run(p)
	if got := r.stateOf(p).GetState(); got != "working" {
		t.Errorf("during the call the pod is %q", got)
	}
	c.End(time.Now(), nil, []any{false, "s1"})
	r.Begin(Seen{Step: "cri.StopContainer", At: time.Now(), Values: []any{"s1", "s1", int64(3)}}).End(time.Now(), nil, []any{false})
	if got := r.stateOf(p).GetState(); got != "waiting" {
		t.Errorf("after the calls the pod is %q", got)
	}
	wantNames(t, r.names(r.events("web")), []string{
		"ENTER cri.RunPodSandbox", "EXIT cri.RunPodSandbox", "ENTER cri.StopContainer", "EXIT cri.StopContainer",
	})
}

// TestOutsideLine: an enter has the line that made the call, if the story has the call within its caller.
func TestOutsideLine(t *testing.T) {
	r := newRig(t, Options{})
	p, other := newPod("default", "web"), newPod("default", "other")
	sync := r.Begin(Seen{Step: "sync.pod", At: time.Now(), Values: []any{p}, Goroutine: 5})
	r.Begin(Seen{Step: "sync.dirs", At: time.Now(), Values: []any{p}, Goroutine: 5, Parent: sync, Line: 2189})
	r.Begin(Seen{Step: "sync.dirs", At: time.Now(), Values: []any{other}, Goroutine: 5, Parent: sync, Line: 2189})
	for pod, want := range map[string]map[string]uint32{
		"web": {"ENTER sync.pod": 0, "ENTER sync.dirs": 2189}, "other": {"ENTER sync.dirs": 0},
	} {
		got := map[string]uint32{}
		for _, e := range r.events(pod) {
			got[r.name(e)] = e.CallerLine
		}
		if !maps.Equal(got, want) {
			t.Errorf("the calls of %s are made from lines %v, want %v", pod, got, want)
		}
	}
}

// TestOutsideFailed: a call whose begin was seen by a probe that then failed does not keep a pod working for ever.
func TestOutsideFailed(t *testing.T) {
	r := newRig(t, Options{Probes: seesCalls()})
	p := newPod("default", "web")
	c := r.run(p)
	r.probes[0].State(agentpb.ProbeState_PROBE_FAILED, unheld.With("step", "any"))
	if got := r.stateOf(p).GetState(); got != "waiting" {
		t.Errorf("the pod is %q", got)
	}
	c.End(time.Now(), nil, nil)
	if got := r.stateOf(p).GetState(); got == "working" {
		t.Errorf("after the call's end the pod is %q", got)
	}
}

// TestOutsideErrorStands: from outside, no turn of a worker shows that a pod is in trouble. When the same call
// succeeds, the pod no longer is.
func TestOutsideErrorStands(t *testing.T) {
	r := newRig(t, Options{Probes: seesCalls()})
	p := newPod("default", "web")
	for _, x := range []struct {
		step  string
		err   error
		state string
	}{
		{"cri.RunPodSandbox", errors.New("no network"), "retry"},
		{"cri.StopPodSandbox", nil, "retry"},
		{"cri.RunPodSandbox", nil, "waiting"},
	} {
		r.Sandbox(sandboxOf(p), "s1")
		vals := []any{"s1", "s1"}
		if x.step == "cri.RunPodSandbox" {
			vals = []any{sandboxOf(p), sandboxOf(p), "runc"}
		}
		r.Begin(Seen{Step: x.step, At: time.Now(), Values: vals}).End(time.Now(), x.err, []any{false})
		if got := r.stateOf(p).GetState(); got != x.state {
			t.Errorf("after %s with error %v the pod is %q, want %q", x.step, x.err, got, x.state)
		}
	}
}

// lastReason returns why the pod was last let go.
func (r *rig) lastReason(pod string) (why string) {
	r.t.Helper()
	for _, e := range r.events(pod) {
		for _, f := range e.Fields {
			if e.Kind == agentpb.Kind_RELEASE && f.Name == "reason" {
				why = f.GetText()
			}
		}
	}
	return why
}

func TestOutsideHold(t *testing.T) {
	r := newRig(t, Options{})
	p := newPod("default", "web")
	hold := func() {
		t.Helper()
		spec := &agentpb.AddBreakpointRequest{
			Pods: &agentpb.PodSelector{Labels: map[string]string{"app": "web"}}, Step: "cri.RunPodSandbox", Times: 1,
			Action: &agentpb.AddBreakpointRequest_Hold{Hold: &agentpb.HoldAction{Lease: durationpb.New(time.Hour)}},
		}
		if _, err := r.addBreakpoint(spec); err != nil {
			t.Fatal(err)
		}
	}
	stop := func(ctx context.Context) chan error {
		c, done := r.run(p), make(chan error, 1)
		go func() { done <- c.Stop(ctx) }()
		return done
	}
	if r.Stopping("cri.RunPodSandbox") {
		t.Error("nobody wants anything, yet calls are to be stopped")
	}

	hold()
	if !r.Stopping("cri.RunPodSandbox") {
		t.Error("there is a breakpoint, yet calls are not to be stopped")
	}
	if r.Stopping("cri.ContainerStatus") {
		t.Error("there is a breakpoint, and calls of other steps are to be stopped")
	}
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(time.Hour))
	done := stop(ctx)
	h := r.held(p)
	if h.Budget == nil || h.Budget.Timer != "caller" {
		t.Errorf("budget %+v, want the caller's deadline", h.Budget)
	}
	cancel()
	if err, why := <-done, r.lastReason("web"); err != nil || why != agentpb.ReleaseCallGivenUp {
		t.Errorf("the caller gave up: error %v, reason %q", err, why)
	}

	// A debugger stops the whole kubelet for the hold. The agent ends the hold before the debugger would.
	hold()
	until := time.Now().Add(time.Second)
	ctx, cancel = Standstill(t.Context(), until)
	done = stop(ctx)
	h = r.held(p)
	ends, by := h.Ends()
	if !h.Node || h.Budget == nil || h.Budget.Timer != "debugger" || by != "debugger" || !ends.Before(until) {
		t.Errorf("a hold for which all stands still ends by %q at %v, until %v, with budget %+v, the node %v", by, ends, until, h.Budget, h.Node)
	}
	if err, why := <-done, r.lastReason("web"); err != nil || why != agentpb.ReleaseTimer {
		t.Errorf("it ended with error %v, reason %q", err, why)
	}
	cancel()

	hold()
	done = stop(t.Context())
	r.held(p).Release("continue")
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestOutsideHoldLeavesTime: a hold leaves a call the time that it needs for its work, but at most half of the time
// that there is. A call that stops a container needs the grace period as well.
func TestOutsideHoldLeavesTime(t *testing.T) {
	r := newRig(t, Options{})
	p := newPod("default", "web")
	now := time.Now()
	for _, c := range []struct {
		seen     Seen
		deadline time.Duration
		left     time.Duration
	}{
		{Seen{Step: "cri.RunPodSandbox", UID: string(p.UID)}, 4 * time.Minute, 4*time.Minute - 30*time.Second},
		{Seen{Step: "cri.RunPodSandbox", UID: string(p.UID)}, 20 * time.Second, 10 * time.Second},
		{Seen{Step: "cri.StopContainer", UID: string(p.UID), Values: []any{nil, "s1", int64(50)}}, 10 * time.Minute, 9 * time.Minute},
	} {
		r.Object(p)
		c.seen.At = now
		k := r.Begin(c.seen)
		if k == nil {
			t.Fatalf("%s is about nobody", c.seen.Step)
		}
		ctx, cancel := context.WithDeadline(t.Context(), now.Add(c.deadline))
		k.span.caller = ctx
		b := r.budgetOf(k.span, k.span.only(), now)
		if got := b.End.Sub(now); got != c.left {
			t.Errorf("%s with a deadline of %v may be held for %v, not %v", c.seen.Step, c.deadline, got, c.left)
		}
		cancel()
		k.End(now, nil, nil)
	}
}

// TestOutsideArmed: a probe is told that something is armed before the goroutine that arms goes on, and is told when
// nothing is armed any more. Once it has asked for no more, it is told nothing.
func TestOutsideArmed(t *testing.T) {
	r := newRig(t, Options{})
	p := r.probes[0]
	var seen []bool
	forget := p.OnArmed(func() { seen = append(seen, p.Armed()) })
	add := func() uint32 {
		t.Helper()
		b, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{
			Pods: &agentpb.PodSelector{Name: "web"}, Step: "cri.RunPodSandbox",
			Action: &agentpb.AddBreakpointRequest_Hold{Hold: &agentpb.HoldAction{}},
		})
		if err != nil {
			t.Fatal(err)
		}
		return b.Id
	}
	r.points.Remove(add())
	if want := []bool{true, false}; !slices.Equal(seen, want) {
		t.Errorf("the probe sees %v, want %v", seen, want)
	}
	forget()
	r.points.Remove(add())
	if len(seen) != 2 {
		t.Errorf("it is called after it was left out: %v", seen)
	}
}

// TestOutsideStopping: when a person steps, the probe looks at all calls before which a pod may be held, and at no
// others. For a fault it looks at the fault's calls.
func TestOutsideStopping(t *testing.T) {
	r := newRig(t, Options{Probes: seesAll("cri.ContainerStatus", "cri.PullImage")})
	want := func(when string, steps ...string) {
		t.Helper()
		for _, step := range []string{"cri.RunPodSandbox", "cri.StopContainer", "cri.ContainerStatus", "cri.PullImage", "no.such.step"} {
			if got := r.Stopping(step); got != slices.Contains(steps, step) {
				t.Errorf("%s, calls of %s are looked at: %v", when, step, got)
			}
		}
	}
	want("at first")
	r.Sandbox(sandboxOf(newPod("default", "web")), "s1")
	p := r.pods.Known("uid-default-web")
	w := pendingAt(nextPlace(p), holding.Terms{Client: context.Background()})
	if err := r.holds.Ask(t.Context(), &p.State.holding, w); err != nil {
		t.Fatal(err)
	}
	want("with a wish", "cri.RunPodSandbox", "cri.StopContainer")
	fail := &agentpb.AddBreakpointRequest_Fail{Fail: "no"}
	if _, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Step: "cri.PullImage", Action: fail}); err != nil {
		t.Fatal(err)
	}
	want("with a wish and a fault", "cri.RunPodSandbox", "cri.StopContainer", "cri.PullImage")
	r.holds.TakeBack(&p.State.holding, w)
	want("with a fault", "cri.PullImage")
	r.points.Clear()
	want("at last")
}

// TestOutsideStep: stepping goes from call to call, also from the pod's worker to the goroutine that it starts.
func TestOutsideStep(t *testing.T) {
	r := newRig(t, Options{})
	p := newPod("default", "web")
	r.Sandbox(sandboxOf(p), "s1", "c1")
	if _, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Pods: sel(p), Step: "cri.StopContainer", Action: &agentpb.AddBreakpointRequest_Hold{}}); err != nil {
		t.Fatal(err)
	}
	calls := func() {
		for _, v := range [][]any{{"cri.StopContainer", "c1", int64(1)}, {"cri.StopPodSandbox", "s1"}} {
			c := r.Begin(Seen{Step: v[0].(string), At: time.Now(), Values: append([]any{v[1]}, v[1:]...)})
			if err := c.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			c.End(time.Now(), nil, []any{false})
		}
	}
	done := make(chan struct{})
	go func() { calls(); close(done) }()
	r.held(p)
	h, err := r.svc.Step(t.Context(), &agentpb.StepRequest{Pods: sel(p), Mode: agentpb.StepMode_NEXT_CRI})
	if err != nil || h.GetStep() != "cri.StopPodSandbox" {
		t.Errorf("stepped to %v, error %v", h, err)
	}
	r.releaseAll("continue")
	<-done
}

func TestOutsideNoHold(t *testing.T) {
	r := newRig(t, Options{Probes: seesAll("cri.PodSandboxStatus")})
	_, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Step: "cri.PodSandboxStatus", Action: &agentpb.AddBreakpointRequest_Hold{}})
	if status.Code(err) != codes.FailedPrecondition {
		t.Errorf("a hold that this probe cannot do: %v", err)
	}
}

// TestOutsideNobody: a call about no known pod, or of no known step, does nothing.
func TestOutsideNobody(t *testing.T) {
	r := newRig(t, Options{})
	for _, seen := range []Seen{
		{Step: "no.such.step"},
		{Step: "cri.ImageStatus", Values: []any{"busybox"}},
		{Step: "cri.ImageStatus", Values: []any{"busybox"}, UID: "nobody"},
	} {
		c := r.Begin(seen)
		if c != nil {
			t.Errorf("%+v is a call", seen)
		}
		if err := c.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		c.End(time.Now(), nil, nil)
	}
}

// TestOutsideFaults: a call may be made to fail even where no pod may be held, for its own pod alone.
func TestOutsideFaults(t *testing.T) {
	r := newRig(t, Options{Probes: seesAll("cri.PullImage")})
	web, other := newPod("default", "web"), newPod("default", "other")
	fail := &agentpb.AddBreakpointRequest_Fail{Fail: "Unavailable: registry"}
	if _, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Pods: sel(web), Step: "cri.PullImage", Action: fail, Times: 2}); err != nil {
		t.Fatal(err)
	}
	pull := func(p *v1.Pod) error {
		c := r.Begin(Seen{Step: "cri.PullImage", At: time.Now(), Values: []any{sandboxOf(p), "busybox"}})
		err := c.Stop(t.Context())
		c.End(time.Now(), err, []any{false})
		return err
	}
	for i, x := range []struct {
		pod  *v1.Pod
		code codes.Code
	}{{other, codes.OK}, {web, codes.Unavailable}, {web, codes.Unavailable}, {web, codes.OK}} {
		if err := pull(x.pod); status.Code(err) != x.code {
			t.Errorf("pull %d: %v, want %v", i, err, x.code)
		}
	}
}

// TestLeftOut: the abilities of a probe that was left out are known. A client that wants one of them gets the reason at
// once, and does not wait.
func TestLeftOut(t *testing.T) {
	why := unheld.With("step", "home")
	r := newRig(t, Options{
		Probes:  []probes.Abilities{{Probe: "api", Steps: map[string]probes.Ability{"cluster.bound": {Entry: true, Exit: true}}}},
		LeftOut: []LeftOut{{seesAll()[0], why}},
	})
	p := newPod("default", "web")
	r.Begin(Seen{Step: "cluster.bound", At: time.Now(), Values: []any{p}}).End(time.Now(), nil, nil)
	r.settle()
	_, hold := r.svc.Hold(t.Context(), &agentpb.HoldRequest{Pods: sel(p)})
	_, point := r.svc.AddBreakpoint(t.Context(), &agentpb.AddBreakpointRequest{Step: "cri.RunPodSandbox", Action: &agentpb.AddBreakpointRequest_Hold{Hold: &agentpb.HoldAction{}}})
	for what, err := range map[string]error{"hold": hold, "breakpoint": point} {
		if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "not seen: not at home") {
			t.Errorf("%s: %v", what, err)
		}
	}
	info := r.info()
	if last := info.Probes[1]; last.State != agentpb.ProbeState_PROBE_STOPPED || last.Reason.GetCode() != why.Code {
		t.Errorf("the probe that was left out is %v", last)
	}
	if why := wire.Unseen(info, info.Steps[r.c.Step("cri.RunPodSandbox").ID]).En; why != "the woven probe is off: not at home" {
		t.Errorf("of a step that it would see the agent says %q", why)
	}
	if why := wire.Unseen(info, info.Steps[r.c.Step("cluster.bound").ID]).En; why != "" {
		t.Errorf("of a step that another probe sees the agent says %q", why)
	}
}

// TestStops: for a breakpoint, all pods are to be stopped at its side of its steps. For a person who steps, a pod is to
// be stopped at both sides of all steps at which it may be held.
func TestStops(t *testing.T) {
	r := newRig(t, Options{Probes: seesAll()})
	want := func(when, step string, stops Stops) {
		t.Helper()
		if got := r.probes[0].Stops(step); got != stops {
			t.Errorf("%s, %s stops at %+v, want %+v", when, step, got, stops)
		}
	}
	want("at first", "sync.pod", Stops{})
	if _, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Step: "sync.volumes", On: agentpb.On_ON_EXIT}); err != nil {
		t.Fatal(err)
	}
	want("with a breakpoint elsewhere", "sync.pod", Stops{})
	want("with a breakpoint", "sync.volumes", Stops{Exit: true, Every: true})
	r.Sandbox(sandboxOf(newPod("default", "web")), "s1")
	p := r.pods.Known("uid-default-web")
	if err := r.holds.Ask(t.Context(), &p.State.holding, pendingAt(nextPlace(p), holding.Terms{Client: context.Background()})); err != nil {
		t.Fatal(err)
	}
	want("with a pending hold", "sync.pod", Stops{Enter: true, Exit: true})
	want("with both", "sync.volumes", Stops{Enter: true, Exit: true, Every: true})
	want("with both", "loop.iter", Stops{})
	if got := r.probes[0].Wanted(); !slices.Equal(got, []string{p.UID}) {
		t.Errorf("wanted are %v", got)
	}
}

// TestLines: a breakpoint, and stepping, hold a pod at a line inside of a call. Other goroutines and other pods are not
// held.
func TestLines(t *testing.T) {
	r := newRig(t, Options{Probes: seesAll()})
	at := Found{0x4711, &agentpb.StackFrame{Function: "kubelet.(*Kubelet).SyncPod", File: "/src/kubelet.go", Line: 2010}}
	spec := &agentpb.AddBreakpointRequest{Pods: &agentpb.PodSelector{Namespace: "default", Name: "web"}, At: "kubelet.go:2010", Times: 1}
	refused := func(want agentpb.Problem_Code, err error) {
		t.Helper()
		if p := reason.ProblemOf(err); p.GetCode() != want {
			t.Errorf("refused with %v, not %v: %v", p.GetCode(), want, err)
		}
	}
	_, err := r.addBreakpoint(spec)
	refused(agentpb.Problem_NO_LINES, err)

	var stepped []agentpb.StepMode
	var forgotten []uint64
	next, fails := at, error(nil)
	r.probes[0].OnDebug(&Debugger{
		Find: func(_ context.Context, where string) ([]Found, error) {
			if where != "kubelet.go:2010" {
				return nil, errors.New("no such line")
			}
			return []Found{at}, nil
		},
		Step: func(_ context.Context, _ uint64, mode agentpb.StepMode) error {
			stepped = append(stepped, mode)
			return fails
		},
		Forget: func(goroutine uint64) { forgotten = append(forgotten, goroutine) },
	})
	_, err = r.addBreakpoint(&agentpb.AddBreakpointRequest{At: "kubelet.go:1"})
	refused(agentpb.Problem_LINES_FAILED, err)
	_, err = r.addBreakpoint(&agentpb.AddBreakpointRequest{At: "kubelet.go:2010", On: agentpb.On_ON_EXIT})
	refused(agentpb.Problem_AT_HOLDS, err)
	b, err := r.addBreakpoint(spec)
	if err != nil || len(b.Places) != 1 || !r.probes[0].Places()[at.Address] {
		t.Fatalf("the breakpoint is %v, %v", b, err)
	}

	worker := func(name string, goroutine uint64) *Call {
		p := newPod("default", name)
		loop := r.Begin(Seen{Step: "worker.loop", At: time.Now(), Values: []any{string(p.UID)}, Goroutine: goroutine, Worker: true})
		return r.Begin(Seen{Step: "sync.pod", At: time.Now(), Values: []any{p}, Goroutine: goroutine, Worker: true, Parent: loop})
	}
	worker("other", 5).StopInside(t.Context(), at)
	call := worker("web", 7)
	call.StopInside(t.Context(), Found{0x4712, at.Frame}) // no breakpoint is there
	done := make(chan struct{})
	go func() {
		defer close(done)
		call.StopInside(t.Context(), at)
		for range 2 {
			call.StopInside(t.Context(), next)
		}
	}()
	p := r.pods.Known("uid-default-web")
	held := func() *hold {
		for {
			if all := r.holds.Of(&p.State.holding); len(all) == 1 {
				return all[0]
			}
			time.Sleep(time.Millisecond)
		}
	}
	if h := held().Proto(); h.On != agentpb.Inside || h.Place.GetLine() != 2010 || h.Step != "sync.pod" || h.Breakpoint != b.Id {
		t.Errorf("it is held as %v", h)
	}
	step := func(mode agentpb.StepMode) (*agentpb.HoldInfo, error) {
		return r.svc.Step(t.Context(), &agentpb.StepRequest{Pods: sel(newPod("default", "web")), Mode: mode, Wait: durationOf(10 * time.Second)})
	}
	fails = errors.New("there is no line")
	_, err = step(agentpb.StepMode_LINE_INTO)
	refused(agentpb.Problem_LINES_FAILED, err)
	fails = nil
	for range 2 {
		if h, err := step(agentpb.StepMode_LINE_OVER); err != nil || h.On != agentpb.Inside || h.Cause != agentpb.Cause_CAUSE_STEP {
			t.Errorf("by line it is held as %v, %v", h, err)
		}
	}
	if got := r.probes[0].Wanted(); len(got) > 0 {
		t.Errorf("by line %v are wanted at steps", got)
	}
	held().Release(agentpb.ReleaseContinue)
	<-done
	if len(stepped) != 3 || len(forgotten) != 0 || len(r.probes[0].Places()) != 0 {
		t.Errorf("stepped %v, forgotten %v, with breakpoints at %v", stepped, forgotten, r.probes[0].Places())
	}
}
