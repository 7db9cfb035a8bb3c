//go:build node

package soak

import (
	"context"
	"io"
	"math/rand/v2"
	"syscall"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/labtest"
)

// direct acts as a client of the protocol whose connection may end at any time.
func (s *soak) direct(ctx context.Context, r *rand.Rand) {
	c, err := client.Dial(ctx, s.l.State.Agent)
	if err != nil {
		if ctx.Err() == nil {
			s.errorf("dial the agent: %v", err)
		}
		return
	}
	s.counts.add("connections of direct clients", 1)
	life := rand64(r, 6*time.Second)
	within, cancel := context.WithTimeout(ctx, life)
	defer cancel()
	switch r.IntN(4) {
	case 0:
		s.holdDirectly(within, c, r)
	case 1:
		s.watchSlowly(within, c, r)
	case 2:
		s.breakDirectly(within, c, r)
	case 3:
		s.stepDirectly(within, c, r)
	}
	_ = c.Close()
}

func (s *soak) selector(r *rand.Rand) *agentpb.PodSelector {
	return &agentpb.PodSelector{Namespace: "default", Name: s.pods.random(r)}
}

// holdDirectly holds a pod by a stream. When the connection ends, so does the hold.
func (s *soak) holdDirectly(ctx context.Context, c *client.Client, r *rand.Rand) {
	stream, err := c.HoldWhile(ctx, &agentpb.HoldRequest{Pods: s.selector(r), Lease: durationpb.New(2 * time.Minute), Wait: durationpb.New(5 * time.Second)})
	if err != nil {
		return
	}
	h, err := stream.Recv()
	if err != nil {
		return
	}
	s.wait(ctx, rand64(r, 5*time.Second))
	_ = c.Close()
	p := printed{ID: h.Id, Step: h.Step, On: h.On}
	p.Pod.Name = h.Pod.Name
	s.untilReleased(p, "its connection was closed")
}

// watchSlowly reads fewer events than come.
func (s *soak) watchSlowly(ctx context.Context, c *client.Client, r *rand.Rand) {
	w, err := c.Watch(ctx, &agentpb.WatchRequest{History: r.IntN(2) == 0, Node: r.IntN(2) == 0, Steps: []string{"cri.*", "sync.*", "*"}[r.IntN(3):]})
	if err != nil {
		return
	}
	for range r.IntN(20) {
		if _, err := w.Next(); err != nil {
			return
		}
		s.wait(ctx, rand64(r, 500*time.Millisecond))
	}
}

// breakDirectly adds breakpoints that end with the connection.
func (s *soak) breakDirectly(ctx context.Context, c *client.Client, r *rand.Rand) {
	for range 1 + r.IntN(4) {
		at := s.sides.choose(r)
		on := agentpb.On_ON_ENTER
		if at.on == "exit" {
			on = agentpb.On_ON_EXIT
		}
		_, _ = c.AddBreakpoint(ctx, &agentpb.AddBreakpointRequest{
			Pods: &agentpb.PodSelector{Namespace: "default", Name: s.somePods(r)}, Step: at.step, On: on, Times: 1 + r.Uint32N(3),
			Action:  &agentpb.AddBreakpointRequest_Hold{Hold: &agentpb.HoldAction{Lease: durationpb.New(time.Minute)}},
			Expires: durationpb.New(longestExpiry), WhileConnected: true,
		}) // the agent refuses sides at which it cannot hold
	}
	s.wait(ctx, time.Minute)
}

// stepDirectly steps a pod as often and as fast as it can.
func (s *soak) stepDirectly(ctx context.Context, c *client.Client, r *rand.Rand) {
	sel := s.selector(r)
	if _, err := c.Hold(ctx, &agentpb.HoldRequest{Pods: sel, Lease: durationpb.New(longestLease), WhileConnected: true}); err != nil {
		return
	}
	for {
		req := &agentpb.StepRequest{Pods: sel, Mode: agentpb.StepMode(r.IntN(6)), Lease: durationpb.New(longestLease), WhileConnected: true}
		if _, err := c.Step(ctx, req); err != nil {
			return
		}
		s.counts.add("steps of direct clients", 1)
	}
}

// keys are the keys that look, hold, step and let go. Keys that write files or ask for text are left out.
var keys = []string{"j", "j", "j", "k", "H", "s", "s", "o", "O", "i", "S", "y", "c", "J", "R", "p", "t", "e", "w", "f", "\t", "\r", "\x1b", "g", "G", "?", "]", "["}

// screen runs podstep's screen in a terminal, and presses random keys.
func (s *soak) screen(ctx context.Context, r *rand.Rand) {
	master, terminal, err := labtest.Terminal()
	if err != nil {
		s.errorf("open a terminal: %v", err)
		return
	}
	c := &child{s: s, verb: "screen", cmd: s.command(), done: make(chan struct{})}
	c.errs = &scanner{c: s.seen.canaries, where: "the screen"}
	c.cmd.Env = append(c.cmd.Env, "TERM=xterm-256color", "LANG=C.UTF-8")
	c.cmd.Stdin, c.cmd.Stdout, c.cmd.Stderr = terminal, terminal, terminal
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	c.started(c.cmd.Start())
	_ = terminal.Close()
	drawn := make(chan struct{})
	go func() {
		defer close(drawn)
		_, _ = io.Copy(c.errs, master) // until no process has the terminal any more
	}()
	for range r.IntN(60) {
		if _, err := master.WriteString(keys[r.IntN(len(keys))]); err != nil || !c.lives(ctx, rand64(r, 300*time.Millisecond)) {
			break
		}
	}
	c.kill(ctx)
	<-drawn
	_ = master.Close()
}
