package attach

import (
	"context"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/podstep/podstep/agent"
	"github.com/podstep/podstep/agent/redact"
	"github.com/podstep/podstep/probes/cri"
)

const (
	// askRuntime bounds a question of ours to the runtime.
	askRuntime = 10 * time.Second
	// findWithin bounds how long the publisher, and the calls that wait for it, wait for such an answer.
	findWithin = 500 * time.Millisecond
)

// identities reports to the agent which pod each sandbox and container belongs to.
// Apart from reload, only the publisher's goroutine uses it.
type identities struct {
	agent   *agent.Agent
	probe   *agent.Probe
	runtime *grpc.ClientConn
	known   *cri.Identities
	asker   *cri.ImageAsker
}

func newIdentities(h *Host) *identities {
	return &identities{agent: h.Agent, probe: h.Probe, known: cri.NewIdentities(), asker: cri.NewImageAsker(h.Target().specs.wanted)}
}

// reach sets how the runtime is dialled.
func (x *identities) reach(dial func(context.Context) (net.Conn, error)) (err error) {
	// The address has no meaning: dial does not use it.
	x.runtime, err = grpc.NewClient("passthrough:///runtime",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return dial(ctx) }))
	return err
}

func (x *identities) close() {
	if x.runtime != nil {
		_ = x.runtime.Close()
	}
}

// stepSandbox reports a sandbox that the runtime had before podstep attached.
const stepSandbox = "cluster.sandbox"

// load asks the runtime for the pods that it has, and reports them to the agent.
func (x *identities) load(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askRuntime)
	defer cancel()
	if _, err := x.known.Load(ctx, x.runtime); err != nil {
		return err
	}
	x.asker.Load(x.known.Pods(), x.known.Containers())
	x.updateAgent()
	for _, p := range x.known.Pods() {
		c, now := p.Config(), time.Now()
		x.probe.Begin(agent.Seen{Step: stepSandbox, At: now, Values: []any{c, p.Sandbox, p.Ready, p.Created, "runtime"}}).End(now, nil, []any{false})
	}
	return nil
}

// findOwner asks the runtime again if the owner of an id is not known. It does not wait long for a late answer: the
// next calls then have the owner.
func (x *identities) findOwner(id string) {
	if x.agent.Owner(id) != "" {
		return
	}
	if p, ok := x.known.Pod(id); ok {
		x.agent.Sandbox(p.Config(), id)
		return
	}
	found := make(chan struct{})
	go func() {
		defer close(found)
		x.reload()
	}()
	select {
	case <-found:
	case <-time.After(findWithin):
	}
}

func (x *identities) reload() {
	defer func() {
		if r := recover(); r != nil {
			x.agent.Note("podstep failed to ask the runtime for its pods: " + redact.Panic(r))
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), askRuntime)
	defer cancel()
	if done, err := x.known.Reload(ctx, x.runtime); err == nil && done {
		x.updateAgent()
	}
}

// updateAgent reports all known sandboxes and containers to the agent.
func (x *identities) updateAgent() {
	ids := map[string][]string{}
	for _, c := range x.known.Containers() {
		ids[c.Pod.UID] = append(ids[c.Pod.UID], c.ID)
	}
	for _, p := range x.known.Pods() {
		x.agent.Sandbox(p.Config(), append(ids[p.UID], p.Sandbox)...)
	}
}

// whose returns the uid of the pod that a request is about; empty if it is not known.
func (x *identities) whose(r cri.Request) string {
	switch {
	case r.Ref.Pod.UID != "":
		return r.Ref.Pod.UID
	case r.Ref.ID != "":
		x.findOwner(r.Ref.ID)
		return string(x.agent.Owner(r.Ref.ID))
	case r.Ref.Image != "":
		uid, _ := x.asker.Asked(r.Ref.Image)
		return uid
	}
	return ""
}

func (x *identities) began(r cri.Request, uid string) { x.asker.Began(r, uid) }

func (x *identities) ended(r cri.Request, a cri.Answer, uid string) {
	x.known.Learn(r, a)
	x.asker.Ended(r, a, uid)
}
