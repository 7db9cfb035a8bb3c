package agent

import (
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/holding"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/probes"
)

// A small kubelet for a rig: a source, the mux, the sync loop and the pod's worker, each on a goroutine of its own.

// addPod brings a pod from the API server to its worker, as a kubelet does.
// The channel is closed when all of it is done.
func (r *rig) addPod(p *v1.Pod) <-chan struct{} {
	done := make(chan struct{})
	merged := make(chan struct{})
	go func() {
		_ = r.call("source.api.send", []any{[]any{p}, 1}, nil, nil)
		go func() {
			_ = r.merge(p)
			close(merged)
		}()
	}()
	go func() {
		<-merged
		worker := r.loopAdd(p)
		<-worker
		close(done)
	}()
	return done
}

func (r *rig) merge(added *v1.Pod) error {
	var out []any
	for _, u := range r.c.Step("merge.merge").Pod.Updates {
		list := []*v1.Pod{}
		if u.Op == "ADD" {
			list = append(list, added)
		}
		out = append(out, list)
	}
	return r.call("merge.Merge", []any{"api", 1}, nil, func() error {
		return r.call("merge.merge", []any{"api"}, out, func() error {
			return r.call("merge.firstseen", []any{added}, nil, nil)
		})
	})
}

// loop makes a call on the sync loop's own goroutine.
func (r *rig) loop(step string, in []any, body func() error) error {
	return r.call("loop.start", nil, nil, func() error {
		return r.call("loop.iter", nil, nil, func() error { return r.call(step, in, nil, body) })
	})
}

// loopAdd makes a call of HandlePodAdditions on the sync loop, which starts the worker. The channel that it returns is
// closed when the worker is done.
func (r *rig) loopAdd(p *v1.Pod) <-chan struct{} {
	worker := make(chan struct{})
	_ = r.loop("loop.add", []any{[]*v1.Pod{p}}, func() error {
		_ = r.call("pm.add", []any{p}, nil, nil)
		_ = r.call("admit.add", []any{p}, nil, func() error { return r.call("admit.can", []any{p}, nil, nil) })
		return r.call("worker.update", []any{p}, nil, func() error {
			r.calls.Go(func() {
				defer close(worker)
				_ = r.sync(p, nil)
			})
			return nil
		})
	})
	return worker
}

func (r *rig) breakAt(p *v1.Pod, step string, on agentpb.On) {
	r.t.Helper()
	if _, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Pods: sel(p), Step: step, On: on, Times: 1}); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) step(p *v1.Pod, mode agentpb.StepMode, until string) *agentpb.HoldInfo {
	r.t.Helper()
	h, err := r.svc.Step(r.t.Context(), &agentpb.StepRequest{Pods: sel(p), Mode: mode, Until: until})
	if err != nil {
		r.t.Fatal(err)
	}
	return h
}

func at(h *agentpb.HoldInfo) string {
	s := h.Step + " " + h.On
	if h.Node {
		s += ", node"
	}
	return s
}

// TestStepThroughNode: in a lab a person follows a new pod from the source to its worker, and is told where the node
// stands still.
func TestStepThroughNode(t *testing.T) {
	r := newRig(t, Options{Lab: true})
	p := newPod("default", "web")
	r.breakAt(p, "source.api.send", agentpb.On_ON_ENTER)
	done := r.addPod(p)
	h := r.held(p).Proto()
	for i, want := range []string{
		"source.api.send enter, node", "merge.firstseen enter, node", "loop.add enter, node", "pm.add enter, node",
		"admit.add enter, node", "admit.can enter, node", "worker.update enter, node", "worker.loop enter", "worker.turn enter", "sync.pod enter",
	} {
		if i > 0 {
			h = r.step(p, agentpb.StepMode_INTO, "")
		}
		if at(h) != want {
			t.Fatalf("came to %s, want %s", at(h), want)
		}
		if lease := h.Lease.AsDuration(); h.Node && lease > DefaultNodeLease || !h.Node && lease <= DefaultNodeLease {
			t.Errorf("%s has a lease of %v", at(h), lease)
		}
		if st, err := r.svc.Pods(t.Context(), &agentpb.PodsRequest{}); err != nil || st.Pods[0].State != "held" || st.Pods[0].Step != h.Step {
			t.Errorf("%s: pods have %v, %v", want, st, err)
		}
	}
	r.releaseAll("continue")
	<-done
}

// TestStepsOnNode: the other ways of stepping from the sync loop.
func TestStepsOnNode(t *testing.T) {
	for _, c := range []struct {
		from  string
		on    agentpb.On
		mode  agentpb.StepMode
		until string
		want  string
	}{
		{"source.api.send", agentpb.On_ON_ENTER, agentpb.StepMode_UNTIL, "merge.merge", "merge.merge exit, node"},
		{"merge.firstseen", agentpb.On_ON_ENTER, agentpb.StepMode_OUT, "", "merge.merge exit, node"},
		{"merge.merge", agentpb.On_ON_EXIT, agentpb.StepMode_INTO, "", "loop.add enter, node"},
		{"merge.merge", agentpb.On_ON_EXIT, agentpb.StepMode_NEXT_SYNC, "", "worker.turn enter"},
		{"loop.add", agentpb.On_ON_ENTER, agentpb.StepMode_OVER, "", "worker.loop enter"},
		{"loop.add", agentpb.On_ON_EXIT, agentpb.StepMode_OVER, "", "worker.turn enter"},
		{"loop.add", agentpb.On_ON_ENTER, agentpb.StepMode_NEXT_STAGE, "", "pm.add enter, node"},
		{"pm.add", agentpb.On_ON_ENTER, agentpb.StepMode_OVER, "", "admit.add enter, node"},
		{"admit.can", agentpb.On_ON_ENTER, agentpb.StepMode_OUT, "", "admit.add exit, node"},
		{"admit.add", agentpb.On_ON_EXIT, agentpb.StepMode_OUT, "", "loop.add exit, node"},
		{"admit.add", agentpb.On_ON_ENTER, agentpb.StepMode_UNTIL, "sync.pod", "sync.pod enter"},
	} {
		t.Run(c.from+" "+c.mode.String(), func(t *testing.T) {
			r := newRig(t, Options{Lab: true})
			p := newPod("default", "web")
			r.breakAt(p, c.from, c.on)
			// The worker goes on when the sync loop is through.
			started := make(chan struct{})
			var done <-chan struct{}
			if c.from == "loop.add" && c.on == agentpb.On_ON_EXIT {
				done = r.loopAddThenWork(p, started)
			} else {
				done = r.addPod(p)
			}
			r.held(p)
			close(started)
			if got := at(r.step(p, c.mode, c.until)); got != c.want {
				t.Errorf("came to %s, want %s", got, c.want)
			}
			r.releaseAll("continue")
			<-done // the next test's agent must not see it
		})
	}
}

// loopAddThenWork is loopAdd with a worker that has begun, and that takes its turn when turn is closed.
func (r *rig) loopAddThenWork(p *v1.Pod, turn <-chan struct{}) <-chan struct{} {
	var both sync.WaitGroup
	done := make(chan struct{})
	both.Add(1)
	go func() {
		defer close(done)
		defer both.Wait()
		_ = r.loop("loop.add", []any{[]*v1.Pod{p}}, func() error {
			begun := make(chan struct{})
			_ = r.call("worker.update", []any{p}, nil, func() error {
				go func() {
					defer both.Done()
					_ = r.call("worker.loop", []any{p.UID}, nil, func() error {
						close(begun)
						<-turn
						return r.call("worker.turn", nil, nil, nil)
					})
				}()
				return nil
			})
			<-begun
			return nil
		})
	}()
	return done
}

// TestWorkerMeanwhile: stepping on the sync loop does not lead to what a pod's worker does about earlier news.
func TestWorkerMeanwhile(t *testing.T) {
	r := newRig(t, Options{Lab: true})
	p := newPod("default", "web")
	r.pods.Object(p)
	r.breakAt(p, "loop.update", agentpb.On_ON_ENTER)
	news, turned := make(chan struct{}), make(chan struct{})
	r.calls.Go(func() {
		_ = r.call("worker.loop", []any{p.UID}, nil, func() error {
			<-news
			_ = r.call("worker.turn", nil, nil, nil)
			close(turned)
			<-t.Context().Done()
			return nil
		})
	})
	r.calls.Go(func() {
		_ = r.loop("loop.update", []any{[]*v1.Pod{p}}, func() error {
			close(news)
			<-turned
			return r.call("worker.update", []any{p}, nil, nil)
		})
	})
	r.held(p)
	if got := at(r.step(p, agentpb.StepMode_INTO, "")); got != "worker.update enter, node" {
		t.Errorf("came to %s, want worker.update, past what the worker did", got)
	}
	r.releaseAll("continue")
}

// TestManyPodsHeld: a call about several pods is held for each pod that a person steps, and once for a breakpoint.
func TestManyPodsHeld(t *testing.T) {
	r := newRig(t, Options{Lab: true})
	a, b := newPod("default", "a"), newPod("default", "b")
	if _, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Step: "loop.remove"}); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = r.loop("loop.remove", []any{[]*v1.Pod{a, b}}, nil)
	}()
	r.held(a)
	if n := len(r.holds.Of(nil)); n != 1 {
		t.Errorf("%d pods are held by one call", n)
	}
	r.releaseAll("continue")
	<-done

	w := pendingAt(func(_ *span, side int) bool { return side == exit }, holding.Terms{Why: holding.Cause{Cause: agentpb.Cause_CAUSE_STEP}, Client: t.Context()})
	if err := r.holds.Ask(t.Context(), &r.pods.Object(b).State.holding, w); err != nil {
		t.Fatal(err)
	}
	for _, bp := range r.points.List() {
		r.points.Remove(bp.ID)
	}
	r.calls.Go(func() { _ = r.loop("loop.add", []any{[]*v1.Pod{a, b}}, nil) })
	if h := r.held(b).Proto(); at(h) != "loop.add exit, node" || h.Pod.Name != "b" {
		t.Errorf("held %s at %s, want b at the exit of loop.add", h.Pod.Name, at(h))
	}
	r.Close() // lets go of the sync loop
	r.settleHolds()
}

// settleHolds waits until nothing is held.
func (r *rig) settleHolds() {
	for _, h := range r.holds.Of(nil) {
		<-h.Released()
	}
}

// TestRemovedWhileHeld: a pod that is removed while it is held can still be named.
func TestRemovedWhileHeld(t *testing.T) {
	r := newRig(t, Options{Lab: true})
	p := newPod("default", "web")
	_ = r.sync(p, nil)
	r.breakAt(p, "loop.remove", agentpb.On_ON_EXIT)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = r.loop("loop.remove", []any{[]*v1.Pod{p}}, nil)
	}()
	r.held(p)
	if _, err := r.svc.Continue(t.Context(), &agentpb.ContinueRequest{Pods: sel(p)}); err != nil {
		t.Error(err)
	}
	<-done
}

// TestNodeBudget: the sync loop's own health check ends a hold with a longer lease.
func TestNodeBudget(t *testing.T) {
	r := newRig(t, Options{Lab: true})
	p := newPod("default", "web")
	lease := &agentpb.AddBreakpointRequest_Hold{Hold: &agentpb.HoldAction{Lease: durationOf(time.Hour)}}
	if _, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Step: "admit.can", Action: lease}); err != nil {
		t.Fatal(err)
	}
	r.calls.Go(func() { <-r.loopAdd(p) })
	h := r.held(p)
	if h.Budget == nil || h.Budget.Timer != "syncloop-health" || h.Lease != time.Hour {
		t.Errorf("budget %+v, lease %v; want the sync loop's health within an hour", h.Budget, h.Lease)
	}
	r.releaseAll("continue")
}

// TestNodeRules: which steps may be held in a lab, and that clients are told.
func TestNodeRules(t *testing.T) {
	rules := func(lab bool) map[string]*agentpb.Step {
		r := newRig(t, Options{Lab: lab})
		info, err := r.svc.Info(t.Context(), &agentpb.InfoRequest{})
		if err != nil || info.Lab != lab {
			t.Fatalf("info: lab %v, %v", info.GetLab(), err)
		}
		out := map[string]*agentpb.Step{}
		for _, s := range info.Steps {
			out[s.Name] = s
		}
		r.Close()
		return out
	}
	for name, s := range rules(false) {
		if s.HoldEnter == string(probes.HoldNode) || s.HoldExit == string(probes.HoldNode) {
			t.Errorf("%s may be held on a node that is no lab", name)
		}
	}
	lab := rules(true)
	for name, want := range map[string]string{
		"loop.add": "node node", "merge.merge": "no node", "merge.Merge": "no no", "source.file.extract": "no node", "cri.PullImage": "node no",
		"pleg.relistpod": "no no", "cri.RunPodSandbox": "worker no", "loop.start": "no no", "boot.runtimeup": "no no", "evict.shutdown": "no no",
	} {
		if s := lab[name]; s.GetHoldEnter()+" "+s.GetHoldExit() != want {
			t.Errorf("%s may be held %s %s, want %s", name, s.GetHoldEnter(), s.GetHoldExit(), want)
		}
	}
}

// TestOthersGoOn: in a lab too, evictions that come to a step of the sync loop are not held, nor are the puller's other
// calls.
func TestOthersGoOn(t *testing.T) {
	r := newRig(t, Options{Lab: true})
	p := newPod("default", "web")
	r.pods.Object(p)
	for _, step := range []string{"worker.update", "cri.*"} {
		if _, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Step: step}); err != nil {
			t.Fatal(err)
		}
	}
	// These would hang if they were held.
	_ = r.call("evict.pod", []any{p}, nil, func() error { return r.call("worker.update", []any{p}, nil, nil) })
	_ = r.call("image.dopull", []any{p.UID}, nil, func() error { return r.call("cri.ImageStatus", nil, nil, nil) })
}

// TestRefusedReasons: each step at which a breakpoint cannot act has its own reason.
func TestRefusedReasons(t *testing.T) {
	r := newRig(t, Options{})
	b, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Step: "worker.*"})
	if err != nil {
		t.Fatal(err)
	}
	whys := map[string]string{}
	for _, x := range b.Refused {
		whys[x.Step] = reason.Problem(x.Problem).En
	}
	if !strings.Contains(whys["worker.update"], "podLock") || whys["worker.kill"] == whys["worker.update"] {
		t.Errorf("refused: %v", whys)
	}
}
