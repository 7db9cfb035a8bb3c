package agent

import (
	"runtime"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
)

// seconds returns a pointer to n.
func seconds(n int64) *int64 { return &n }

// killed returns a pod whose deletion allows it less time than its spec.
func killed(sidecar bool) *v1.Pod {
	p := newPod("default", "web")
	p.Spec.TerminationGracePeriodSeconds = seconds(300)
	p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: time.Now()}, seconds(50)
	if sidecar {
		always := v1.ContainerRestartPolicyAlways
		p.Spec.InitContainers = []v1.Container{{Name: "proxy", RestartPolicy: &always}}
	}
	return p
}

// inKill runs body on the goroutine that the worker starts to kill a container.
func (r *rig) inKill(p *v1.Pod, override any, body func() error) error {
	return r.sync(p, func() error {
		return r.call("rt.killcontainers", []any{p.UID, []string{"app"}, override}, nil, func() error {
			done := make(chan error)
			go func() { done <- r.call("rt.killcontainer", []any{p, "app", "c", "", "", override}, nil, body) }()
			return <-done
		})
	})
}

// TestTimers: the budget of a hold is the timer that really runs, with the time that is really left. A hold that costs
// no timer has no budget.
func TestTimers(t *testing.T) {
	hook := func(r *rig, p *v1.Pod, grace int64) func() error {
		return func() error {
			return r.call("rt.prestop", []any{p, "app", grace}, nil, func() error { return r.call("rt.poststart", []any{p}, nil, nil) })
		}
	}
	stop := func(r *rig) func() error {
		return func() error { return r.call("cri.StopContainer", []any{"c", "c", int64(1)}, nil, nil) }
	}
	for name, c := range map[string]struct {
		pod  *v1.Pod
		at   string
		run  func(r *rig, p *v1.Pod) error
		want string
		left time.Duration // at most, and at least half of it
	}{
		"hook, grace of the deletion": {killed(false), "rt.poststart", func(r *rig, p *v1.Pod) error { return r.inKill(p, nil, hook(r, p, 40)) }, "grace", 40 * time.Second},
		"before the hook runs":        {killed(false), "rt.prestop", func(r *rig, p *v1.Pod) error { return r.inKill(p, nil, hook(r, p, 40)) }, "", 0},
		"before the kill":             {killed(true), "rt.killcontainers", func(r *rig, p *v1.Pod) error { return r.inKill(p, nil, nil) }, "", 0},
		"no sidecar waits":            {killed(false), "cri.StopContainer", func(r *rig, p *v1.Pod) error { return r.inKill(p, nil, stop(r)) }, "", 0},
		"a sidecar waits for it":      {killed(true), "cri.StopContainer", func(r *rig, p *v1.Pod) error { return r.inKill(p, nil, stop(r)) }, "sidecar-turn", 50 * time.Second},
		"a sidecar waits, eviction":   {killed(true), "cri.StopContainer", func(r *rig, p *v1.Pod) error { return r.inKill(p, seconds(7), stop(r)) }, "sidecar-turn", 7 * time.Second},
		"sidecar before the hook":     {killed(true), "rt.prestop", func(r *rig, p *v1.Pod) error { return r.inKill(p, nil, hook(r, p, 40)) }, "sidecar-turn", 50 * time.Second},
		"hook with sidecars":          {killed(true), "rt.poststart", func(r *rig, p *v1.Pod) error { return r.inKill(p, nil, hook(r, p, 40)) }, "grace", 40 * time.Second},
		"the worker waits for volumes": {newPod("default", "web"), "vol.op", func(r *rig, p *v1.Pod) error {
			return r.sync(p, func() error { return r.call("sync.volumes", []any{p}, nil, r.mount(p)) })
		}, "volume-wait", 123 * time.Second},
		"nobody waits for volumes": {newPod("default", "web"), "vol.op", func(r *rig, p *v1.Pod) error { return r.mount(p)() }, "", 0},
		"before volumes are waited": {newPod("default", "web"), "sync.volumes", func(r *rig, p *v1.Pod) error {
			return r.sync(p, func() error { return r.call("sync.volumes", []any{p}, nil, nil) })
		}, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Options{})
			r.pods.Object(c.pod)
			lease := &agentpb.AddBreakpointRequest_Hold{Hold: &agentpb.HoldAction{Lease: durationOf(time.Hour)}}
			if _, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Step: c.at, Action: lease}); err != nil {
				t.Fatal(err)
			}
			done := make(chan struct{})
			go func() { defer close(done); _ = c.run(r, c.pod) }()
			h := r.held(c.pod).Proto()
			if h.Step != c.at || h.Budget.GetTimer() != c.want {
				t.Errorf("at %s the budget is %v, want %q at %s", h.Step, h.Budget, c.want, c.at)
			}
			if left := h.Budget.GetLeft().AsDuration(); left > c.left || left < c.left/2 {
				t.Errorf("%v are left, want %v", left, c.left)
			}
			by := c.want
			if by == "" {
				by = "lease"
			}
			if h.EndsBy != by || c.want != "" && h.Ends.AsDuration() >= h.Budget.Left.AsDuration() {
				t.Errorf("the agent lets go in %v by %s", h.Ends.AsDuration(), h.EndsBy)
			}
			r.points.Clear()
			r.releaseAll("continue")
			<-done
		})
	}
}

// TestTimersAfterHold: a timer starts when the function goes on after a hold at its entry, however long that was, and
// not when the function was called.
func TestTimersAfterHold(t *testing.T) {
	for from, c := range map[string]struct {
		at, timer string
		left      time.Duration
		run       func(r *rig, p *v1.Pod) error
	}{
		"rt.prestop": {"rt.poststart", "grace", 40 * time.Second, func(r *rig, p *v1.Pod) error {
			return r.inKill(p, nil, func() error {
				return r.call("rt.prestop", []any{p, "app", int64(40)}, nil, func() error { return r.call("rt.poststart", []any{p}, nil, nil) })
			})
		}},
		"rt.killcontainers": {"cri.StopContainer", "sidecar-turn", 50 * time.Second, func(r *rig, p *v1.Pod) error {
			return r.inKill(p, nil, func() error { return r.call("cri.StopContainer", []any{"c", "c", int64(1)}, nil, nil) })
		}},
		"sync.volumes": {"vol.op", "volume-wait", 123 * time.Second, func(r *rig, p *v1.Pod) error {
			return r.sync(p, func() error { return r.call("sync.volumes", []any{p}, nil, r.mount(p)) })
		}},
	} {
		t.Run(from, func(t *testing.T) {
			r := newRig(t, Options{})
			p := killed(from == "rt.killcontainers")
			r.pods.Object(p)
			r.breakAt(p, from, agentpb.On_ON_ENTER)
			done := make(chan struct{})
			go func() { defer close(done); _ = c.run(r, p) }()
			h := r.held(p)
			// The hold has lasted longer than the timer runs.
			h.At.span.start -= int64(10 * time.Minute)
			r.breakAt(p, c.at, agentpb.On_ON_ENTER)
			h.Release("continue")
			for r.held(p).Step.Name != c.at {
				runtime.Gosched()
			}
			if b := r.held(p).Proto().Budget; b.GetTimer() != c.timer || b.Left.AsDuration() > c.left || b.Left.AsDuration() < c.left/2 {
				t.Errorf("the budget is %v, want %v of %s", b, c.left, c.timer)
			}
			r.releaseAll("continue")
			<-done
		})
	}
}

// mount begins a volume operation, on a goroutine that the reconciler starts.
func (r *rig) mount(p *v1.Pod) func() error {
	return func() error {
		done := make(chan error)
		go func() {
			_ = r.call("vol.mountattached", []any{p}, nil, func() error {
				go func() { done <- r.call("vol.op", nil, nil, nil) }()
				return nil
			})
		}()
		return <-done
	}
}

// TestStaticBeforeMirror: a static pod of the control plane is protected from the first time that it is seen, although
// it then has no priority, no mirror, and no source in its annotations.
func TestStaticBeforeMirror(t *testing.T) {
	r := newRig(t, Options{})
	p := newPod("kube-system", "kube-apiserver-node")
	p.Annotations = map[string]string{probes.AnnotationHash: "abc"}
	if err := r.pods.Object(p).State.holding.Check(false); err == nil {
		t.Error("it may be held without force")
	}
	s := sandboxOf(newPod("kube-system", "etcd-node"))
	s.Annotations = map[string]string{probes.AnnotationHash: "abc"}
	if err := r.pods.Sandbox(s).State.holding.Check(false); err == nil {
		t.Error("one that is known by its sandbox may be held without force")
	}
	dns, ordinary := newPod("kube-system", "dns"), int32(0)
	dns.Spec.Priority = &ordinary // every pod of the API server's has one
	if err := r.pods.Object(dns).State.holding.Check(false); err != nil {
		t.Errorf("a pod of the API server may not: %v", err)
	}
}
