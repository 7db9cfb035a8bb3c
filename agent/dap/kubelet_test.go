package dap

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/agent"
	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/server"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/hook"
)

// kubelet is a real agent with a kubelet that the test plays: calls go through the hook, as woven code's do.
type kubelet struct {
	t      testing.TB
	c      *probes.Catalogue
	socket string
	a      *agent.Agent
	stop   func() // ends the agent's server
	// workers are the pods' workers that play. When over is closed, those of work end.
	workers sync.WaitGroup
	over    chan struct{}
}

func newKubelet(t testing.TB, o agent.Options) *kubelet {
	t.Helper()
	c := probes.MustLoad()
	can := probes.Abilities{Probe: "woven", Knows: probes.Knows{Turns: true, Nesting: true, Workers: true}, Steps: map[string]probes.Ability{}}
	for _, s := range c.Steps {
		can.Steps[s.Name] = probes.Everything()
	}
	o.Probes, o.Node, o.KubeletVersion = []probes.Abilities{can}, "node-1", probes.KubernetesVersion
	a, err := agent.New(c, o)
	if err != nil {
		t.Fatal(err)
	}
	a.Attach()
	path := filepath.Join(t.TempDir(), "agent.sock")
	l, err := server.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	srv := agent.Serve(a, l, server.Access{Without: server.Look})
	k := &kubelet{t: t, c: c, socket: path, a: a, stop: srv.Stop, over: make(chan struct{})}
	t.Cleanup(func() {
		close(k.over)
		srv.Stop()
		a.Close()
		k.workers.Wait() // the hook is one for all tests: a worker that plays on would come to the next test's agent
	})
	return k
}

func newPod(name string) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "1"}}
}

// call does what woven code of a step does around body.
func (k *kubelet) call(step string, in, out []any, body func() error) (err error) {
	s := k.c.Step(step)
	p, fault := hook.Enter(s.ID, hook.List(in...))
	if p != nil || fault != nil {
		defer hook.Leave(p, func() error { return err }, hook.List(out...))
		if fault != nil {
			return fault
		}
	}
	if body != nil {
		err = body()
	}
	return err
}

var errNetwork = errors.New("no network for the sandbox")

// create plays a pod's worker that makes the pod's sandbox in its one turn. The channel is closed when the worker has ended.
func (k *kubelet) create(p *v1.Pod, failure error) (done chan struct{}) {
	done = make(chan struct{})
	k.workers.Go(func() {
		defer close(done)
		k.add(p)
		_ = k.call("worker.loop", []any{p.UID}, nil, func() error { return k.turn(p, failure) })
	})
	return done
}

// add plays the sync loop's part of a pod, which comes before its worker's: from there the agent knows the pod's name.
func (k *kubelet) add(p *v1.Pod) { _ = k.call("loop.add", []any{[]*v1.Pod{p}}, nil, nil) }

// work plays a pod's worker that takes turns until the test is over.
func (k *kubelet) work(p *v1.Pod) {
	k.workers.Go(func() {
		k.add(p)
		_ = k.call("worker.loop", []any{p.UID}, nil, func() error {
			for {
				select {
				case <-k.over:
					return nil
				default:
					_ = k.turn(p, nil)
				}
			}
		})
	})
}

// turn plays a turn of a pod's worker that makes the pod's sandbox.
func (k *kubelet) turn(p *v1.Pod, failure error) error {
	sandbox := &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Namespace: p.Namespace, Name: p.Name, Uid: string(p.UID)}, Hostname: p.Name,
	}
	return k.call("worker.turn", nil, nil, func() error {
		return k.call("sync.pod", []any{p, "create"}, []any{false}, func() error {
			_ = k.call("sync.volumes", []any{p}, nil, nil)
			return k.call("rt.sync", []any{p}, nil, func() error {
				err := k.call("rt.sandbox", []any{p, 0}, []any{false, "s1"}, func() error {
					return k.call("cri.RunPodSandbox", []any{sandbox, sandbox, "runc"}, []any{false, "s1"}, func() error { return failure })
				})
				if err != nil {
					return err
				}
				return k.call("rt.start", []any{p}, nil, nil)
			})
		})
	})
}

// agent returns a connection of somebody else to the agent.
func (k *kubelet) agent() *client.Client {
	k.t.Helper()
	c, err := client.Dial(context.Background(), k.socket)
	if err != nil {
		k.t.Fatal(err)
	}
	k.t.Cleanup(func() { _ = c.Close() })
	return c
}

// armed returns how many breakpoints and holds the agent has.
func (k *kubelet) armed(c *client.Client) (points, holds int) {
	k.t.Helper()
	b, err := c.ListBreakpoints(context.Background(), &agentpb.ListBreakpointsRequest{})
	if err != nil {
		k.t.Fatal(err)
	}
	h, err := c.ListHolds(context.Background(), &agentpb.ListHoldsRequest{})
	if err != nil {
		k.t.Fatal(err)
	}
	return len(b.GetBreakpoints()), len(h.GetHolds())
}
