package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/mcp"
	"github.com/podstep/podstep/probes"
)

// oncallHolds holds pods for an assistant. It has a connection of its own, with which its holds end.
type oncallHolds struct {
	app *app

	mu     sync.Mutex
	client *client.Client  // nil: nothing was held yet
	own    map[uint32]bool // the numbers of the holds that the assistant asked for
}

var _ mcp.Holds = (*oncallHolds)(nil)

// close ends the connection, and with it the holds.
func (h *oncallHolds) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.client != nil {
		_ = h.client.Close() // nothing is left to do with it
	}
}

func (h *oncallHolds) dial(ctx context.Context) (*client.Client, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.client == nil {
		c, err := h.app.dial(ctx)
		if err != nil {
			return nil, noAgentFor(err)
		}
		h.client = c
	}
	return h.client, nil
}

// Hold holds a pod at its next step that allows it.
func (h *oncallHolds) Hold(ctx context.Context, q mcp.HoldQuestion) (*mcp.Answer, error) {
	c, sel, lease, err := h.begin(ctx, q.Pod, q.Namespace, q.Lease)
	if err != nil {
		return nil, ofTool(err)
	}
	held, err := c.Hold(ctx, &agentpb.HoldRequest{Pods: sel, Lease: lease, Wait: durationpb.New(mcp.HoldWithin), WhileConnected: true, Message: "an assistant, by podstep mcp"})
	return h.answer(c, held, err)
}

// stepsTo are the ways of the argument to that are no step.
var stepsTo = map[string]agentpb.StepMode{
	"": agentpb.StepMode_INTO, "over": agentpb.StepMode_OVER, "out": agentpb.StepMode_OUT, "stage": agentpb.StepMode_NEXT_STAGE,
	"cri": agentpb.StepMode_NEXT_CRI, "sync": agentpb.StepMode_NEXT_SYNC,
}

// Step lets a pod go on that the assistant holds, and holds it again.
func (h *oncallHolds) Step(ctx context.Context, q mcp.StepQuestion) (*mcp.Answer, error) {
	r := &agentpb.StepRequest{Wait: durationpb.New(mcp.HoldWithin), WhileConnected: true}
	way, known := stepsTo[q.To]
	if r.Mode = way; !known {
		catalogue, err := probes.Load()
		if err != nil {
			return nil, err
		}
		if _, err := stepsNamed(catalogue, q.To); err != nil {
			return nil, ofTool(fmt.Errorf("to is no way to go, and %w", err))
		}
		r.Mode, r.Until = agentpb.StepMode_UNTIL, q.To
	}
	c, sel, lease, err := h.begin(ctx, q.Pod, q.Namespace, q.Lease)
	if err != nil {
		return nil, ofTool(err)
	}
	r.Lease = lease
	if r.Pods, err = h.ownPod(ctx, c, sel); err != nil {
		return nil, ofTool(err)
	}
	held, err := c.Step(ctx, r)
	return h.answer(c, held, err)
}

// Continue lets a pod go that the assistant holds.
func (h *oncallHolds) Continue(ctx context.Context, q mcp.ContinueQuestion) (*mcp.Answer, error) {
	c, sel, _, err := h.begin(ctx, q.Pod, q.Namespace, 0)
	if err != nil {
		return nil, ofTool(err)
	}
	own, err := h.ownPod(ctx, c, sel)
	if err != nil {
		return nil, ofTool(err)
	}
	answer, err := c.Continue(ctx, &agentpb.ContinueRequest{Pods: own})
	if err != nil {
		return nil, ofTool(err)
	}
	return &mcp.Answer{Evidence: evidenceOf(agentSource, c.About()), Result: newHoldsJSON(answer.Released)}, nil
}

// begin checks a question, and connects to the agent.
func (h *oncallHolds) begin(ctx context.Context, pod, namespace string, seconds int) (*client.Client, *agentpb.PodSelector, *durationpb.Duration, error) {
	if pod == "" {
		return nil, nil, nil, errors.New("the pod is missing: name it as NAME or NAMESPACE/NAME")
	}
	lease := time.Duration(seconds) * time.Second
	if lease == 0 {
		lease = mcp.MaxLease
	}
	if seconds < 0 || seconds > int(mcp.MaxLease/time.Second) {
		return nil, nil, nil, fmt.Errorf("the lease is %d seconds, and it is from 1 to %d; leave it out for %[2]d", seconds, mcp.MaxLease/time.Second)
	}
	name := podName{namespace}
	sel, err := name.one(pod)
	if err != nil {
		return nil, nil, nil, err
	}
	c, err := h.dial(ctx)
	return c, sel, durationpb.New(lease), err
}

// ownPod returns the selector of the very pod that the assistant holds. It fails for a pod that a person holds: the
// assistant must not let that one go.
func (h *oncallHolds) ownPod(ctx context.Context, c *client.Client, sel *agentpb.PodSelector) (*agentpb.PodSelector, error) {
	list, err := c.ListHolds(ctx, &agentpb.ListHoldsRequest{})
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	others := false
	for _, held := range list.Holds {
		if !sel.Selects(held.GetPod().GetNamespace(), held.GetPod().GetName()) {
			continue
		}
		if h.own[held.Id] {
			p := held.GetPod()
			return &agentpb.PodSelector{Namespace: p.GetNamespace(), Name: p.GetName(), Uid: p.GetUid()}, nil
		}
		others = true
	}
	if others {
		return nil, fmt.Errorf("%s is held by somebody else, who alone lets it go; the tool pods says for how long", sel.Written())
	}
	return nil, fmt.Errorf("%s is not held: its lease may be over; the tool pods shows which pods are", sel.Written())
}

// answer keeps the number of a hold, and answers with it.
func (h *oncallHolds) answer(c *client.Client, held *agentpb.HoldInfo, err error) (*mcp.Answer, error) {
	if err != nil {
		return nil, ofTool(err)
	}
	h.mu.Lock()
	h.own[held.Id] = true
	h.mu.Unlock()
	return &mcp.Answer{Evidence: evidenceOf(agentSource, c.About()), Result: newHoldJSON(held)}, nil
}

// newHoldsJSON returns holds as scripts get them.
func newHoldsJSON(holds []*agentpb.HoldInfo) []holdJSON {
	out := slices.Grow([]holdJSON{}, len(holds))
	for _, h := range holds {
		out = append(out, newHoldJSON(h))
	}
	return out
}
