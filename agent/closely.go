package agent

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/breakpoints"
	"github.com/podstep/podstep/agent/holding"
	"github.com/podstep/podstep/agent/pods"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/probes"
)

// closely has the pods that clients watch closely. Some probes look at some steps only for them, since a kubelet comes to those
// steps very often.
type closely struct {
	mu   sync.Mutex
	pods map[*pods.Selector]bool
}

// maxClosely bounds how many clients watch pods closely.
const maxClosely = 64

// WatchClosely watches pods closely while the stream lasts.
func (s *service) WatchClosely(req *agentpb.WatchCloselyRequest, stream grpc.ServerStreamingServer[agentpb.WatchCloselyResponse]) error {
	sel, err := pods.NewSelector(req.GetPods())
	if err != nil {
		return err
	}
	if !req.GetPods().IsNamed() {
		return invalid(agentpb.Problem_POD_NOT_NAMED, nil)
	}
	if err := s.agent.closely.add(sel); err != nil {
		return err
	}
	defer s.agent.closely.remove(sel)
	s.agent.announceClosely(stream.Context())
	if err := stream.Send(&agentpb.WatchCloselyResponse{}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

func (c *closely) add(sel *pods.Selector) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.pods) >= maxClosely {
		return reason.Failed(codes.ResourceExhausted, problem(agentpb.Problem_TOO_MANY_WATCHERS, args{"count": strconv.Itoa(maxClosely)}))
	}
	if c.pods == nil {
		c.pods = map[*pods.Selector]bool{}
	}
	c.pods[sel] = true
	return nil
}

func (c *closely) remove(sel *pods.Selector) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.pods, sel)
}

// announceClosely calls the functions that OnClosely was given, and waits until they return.
func (a *Agent) announceClosely(ctx context.Context) {
	for _, p := range a.probes {
		if changed := p.closely.Load(); changed != nil && *changed != nil {
			(*changed)(ctx)
		}
	}
}

// has reports whether a client watches a pod closely.
func (c *closely) has(p *pods.Pod) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for sel := range c.pods {
		if p.Is(sel) {
			return true
		}
	}
	return false
}

func (c *closely) any() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pods) > 0
}

// OnClosely makes the agent call f when the probe may have to look closely: LooksClosely reports whether it has to. Whoever
// wants that waits until f returns. nil ends it.
func (p *Probe) OnClosely(f func(context.Context)) { p.closely.Store(&f) }

// LooksClosely reports whether the probe is to look at the steps of its abilities that are seen closely: a client watches a pod
// closely, a person holds or steps one, or there is a breakpoint or a held pod at such a step that no probe sees all the time.
func (p *Probe) LooksClosely() bool {
	a := p.agent
	if a.closely.any() || a.holds.Asked(nil) {
		return true
	}
	always := func(r reach) bool { return r.sees() && !r.closely() }
	needs := func(id int) bool {
		s := &a.steps[id]
		return s.reach(p.index).closely() && !a.anyReach(s, always)
	}
	for _, b := range a.points.List() {
		for id := range b.Steps {
			if needs(id) {
				return true
			}
		}
	}
	return slices.ContainsFunc(a.holds.Of(nil), func(h *holding.Hold[crossing]) bool { return needs(h.Step.ID) })
}

// SeesClosely reports whether a call of a step that is seen closely is to be reported: a client watches its pod closely, a person
// holds or steps it, or a breakpoint is at the step. of is a probes.PodRef, or the id of a sandbox or container.
func (p *Probe) SeesClosely(step string, of any) bool {
	a := p.agent
	s := a.stepNamed(step)
	if s == nil {
		return false
	}
	if a.points.First(func(b *breakpoints.Breakpoint) bool { return b.IsAtStep(s.ID) }) != nil {
		return true
	}
	var about *pod
	switch of := of.(type) {
	case probes.PodRef:
		about = a.pods.Ref(of)
	case string:
		about = a.pods.CRI(of)
	}
	return about != nil && (a.closely.has(&about.Pod) || a.holds.Asked(&about.State.holding))
}
