package session

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	podstep "github.com/podstep/podstep/agent"
	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/server"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/hook"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/state"
)

// kubelet plays a kubelet whose pods have a turn now and then. Its calls go through the hook, as those of woven code
// do.
type kubelet struct{ c *probes.Catalogue }

// call does around body what woven code of a step does.
func (k kubelet) call(step string, in, out []any, body func()) {
	p, _ := hook.Enter(k.c.Step(step).ID, hook.List(in...))
	if p != nil {
		defer hook.Leave(p, func() error { return nil }, hook.List(out...))
	}
	if body != nil {
		body()
	}
}

// works plays a pod's worker, until ctx ends.
func (k kubelet) works(ctx context.Context, p *v1.Pod) {
	k.call("worker.loop", []any{p.UID}, nil, func() {
		every := time.NewTicker(time.Millisecond)
		defer every.Stop()
		for {
			select {
			case <-every.C:
			case <-ctx.Done():
				return
			}
			k.call("worker.turn", nil, nil, func() {
				k.call("sync.pod", []any{p, "sync"}, []any{false}, func() {
					k.call("sync.genstatus", []any{p}, nil, nil)
					k.call("rt.sync", []any{p}, nil, nil)
				})
			})
		}
	})
}

// shown does with news what a screen does, and checks them.
type shown struct {
	t     *testing.T
	s     *state.State
	mu    sync.Mutex
	holds map[uint32]bool // of the last list
	lists int
}

func (c *shown) take(n News) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n.Info != nil {
		c.s = state.New(n.Info, probes.MustLoad(), words.English)
		c.s.SetLink(screen.LinkLive, "live")
	}
	for _, b := range n.Batches {
		c.s.Add(b)
	}
	if n.Holds == nil {
		return
	}
	c.lists++
	c.s.Tick(n.Holds.At)
	c.s.SetHolds(n.Holds.List, n.Holds.At)
	c.holds = map[uint32]bool{}
	marks := map[string]life.State{}
	for _, row := range c.s.PodsNamed() {
		marks[row.UID] = row.Mark
	}
	for _, h := range n.Holds.List {
		c.holds[h.Id] = true
		if marks[h.Pod.Uid] != life.Held {
			c.t.Errorf("hold %d of pod %s, of event %d, is listed; by the events the pod is not held", h.Id, h.Pod.Name, h.Seq)
		}
	}
}

// shows reports whether the screen shows a hold.
func (c *shown) shows(h *agentpb.HoldInfo) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.holds[h.GetId()]
}

// TestRealAgent: with the real agent, the list of holds agrees with the events, through all holding, stepping and
// letting go. The result of a request is on the screen when the request returns.
func TestRealAgent(t *testing.T) {
	k := kubelet{probes.MustLoad()}
	can := probes.Abilities{Probe: "woven", Knows: probes.Knows{Turns: true, Nesting: true, Workers: true}, Steps: map[string]probes.Ability{}}
	for _, s := range k.c.Steps {
		can.Steps[s.Name] = probes.Everything()
	}
	a, err := podstep.New(k.c, podstep.Options{Node: "node-1", Probes: []probes.Abilities{can}})
	if err != nil {
		t.Fatal(err)
	}
	a.Attach()
	path := filepath.Join(t.TempDir(), "s")
	l, err := server.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	serving := podstep.Serve(a, l, server.Access{})
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer func() {
		stop()
		a.Close()
		serving.Stop()
		running.Wait()
	}()
	names := []string{"a", "b"}
	for _, name := range names {
		p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name), ResourceVersion: "1"}}
		running.Go(func() { k.works(ctx, p) })
	}
	live := open(t, path)
	view := &shown{t: t}
	until(t, live, func(n News) bool {
		view.take(n)
		return view.s != nil && len(view.s.PodsNamed()) > len(names)
	})
	running.Go(func() {
		for {
			n, err := live.Next(ctx)
			if err != nil {
				return
			}
			view.take(n)
		}
	})
	var people sync.WaitGroup
	for i, name := range names {
		people.Go(func() { person(t, live, view, name, rand.New(rand.NewPCG(uint64(i), 7))) })
	}
	people.Wait()
	view.mu.Lock()
	defer view.mu.Unlock()
	if view.lists == 0 {
		t.Error("no list of holds was given out")
	}
}

// person holds a pod, steps it and lets it go, again and again.
func person(t *testing.T, l *live, view *shown, name string, r *rand.Rand) {
	pod := &agentpb.PodSelector{Namespace: "default", Name: name}
	for range 25 {
		h, err := l.Hold(t.Context(), &agentpb.HoldRequest{Pods: pod})
		if err != nil {
			t.Errorf("hold %s: %v", name, err)
			return
		}
		for range r.IntN(4) {
			if h, err = l.Step(t.Context(), &agentpb.StepRequest{Pods: pod}); err != nil {
				t.Errorf("step %s: %v", name, err)
				return
			}
		}
		if !view.shows(h) {
			t.Errorf("hold %d of %s, of event %d, is answered and not on the screen", h.Id, name, h.Seq)
		}
		let, err := l.Continue(t.Context(), &agentpb.ContinueRequest{Pods: pod})
		if err != nil || len(let) != 1 || let[0].Id != h.Id {
			t.Errorf("continue %s: %v, %v", name, let, err)
			return
		}
	}
}
