package attach

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/podstep/podstep/agent"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/reasons"
	"github.com/podstep/podstep/probes/uprobe"
	"github.com/podstep/podstep/probes/uprobe/holdproc"
)

// Uprobe is the probe that looks into the kubelet's process, through eBPF.
var Uprobe = Kind{Name: uprobe.Name, Abilities: insideAbilities, New: newInside}

func insideAbilities(c *probes.Catalogue, t *Target) probes.Abilities {
	p, err := t.looksInside()
	if err != nil {
		return uprobe.NoAbilities(err)
	}
	holds := uprobe.Holds{Allowed: t.allowHolds}
	if t.criHolds {
		holds.Except = map[string]probes.Reason{stageCRI: reasons.HeldByCRI.Reason()}
	}
	return p.Abilities(c, holds)
}

const stageCRI = "cri"

// inside publishes what is seen inside of the kubelet as events of the agent.
type inside struct {
	catalogue *probes.Catalogue
	probe     *uprobe.Probe
	host      *Host
	target    *Target
	holder    *holder // nil: it only looks
	// refused are steps at which other pods were read than there are. Only the probe's
	// goroutine uses it.
	refused map[string]bool
}

func newInside(t *Target) (Probe, error) {
	p, err := makeInside(t)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// makeInside prepares to publish what is seen inside of a kubelet.
func makeInside(t *Target) (*inside, error) {
	c, err := probes.Load()
	if err != nil {
		return nil, err
	}
	p, err := t.looksInside()
	if err != nil {
		return nil, err
	}
	return &inside{catalogue: c, probe: p, target: t, refused: map[string]bool{}}, nil
}

// Start has the kernel look at the steps' functions.
func (p *inside) Start(ctx context.Context, h *Host) (err error) {
	p.host = h
	if p.target.allowHolds {
		if p.holder, err = newHolder(ctx, h, p.catalogue, p.probe, meetWithin, p.startHolding); err != nil {
			return err
		}
	}
	if err := p.probe.Start(p.catalogue, p); err != nil {
		return errors.Join(err, p.Stop(ctx))
	}
	h.Working(nil)
	h.Go(p.watchCost)
	return nil
}

// startHolding starts the hold process.
func (p *inside) startHolding(ctx context.Context, h holdproc.Handler) (stopper, error) {
	k := &p.target.Kubelet
	return holdproc.Start(ctx, holdproc.Options{PID: k.PID, Started: k.Started, NotWithin: p.probe.Locking()}, p.target.hold, h)
}

// Stop has the kernel forget them.
func (p *inside) Stop(context.Context) error {
	if p.holder != nil {
		p.holder.close()
	}
	return p.probe.Stop()
}

// Enter publishes that a call has begun.
func (p *inside) Enter(c *uprobe.Call) {
	if p.holder != nil {
		p.holder.noteWorker(c, false)
	}
	if !p.refused[c.Step.Name] && p.agrees(c) {
		c.State = p.begin(c)
	}
	p.stopped(c, func(call *agent.Call, ctx context.Context) { _ = call.Stop(ctx) })
}

// stopped has the holder hold a call that the program in the kernel has stopped, for as long
// as stop takes; one that is not shown goes on at once.
func (p *inside) stopped(c *uprobe.Call, stop func(*agent.Call, context.Context)) {
	if p.holder == nil || c.Stopped == nil {
		return
	}
	call, _ := c.State.(*agent.Call)
	p.holder.stopped(*c.Stopped, func(ctx context.Context) { stop(call, ctx) })
}

// begin publishes that a call has begun, within the innermost one around it that is shown.
func (p *inside) begin(c *uprobe.Call) *agent.Call {
	seen := agent.Seen{Step: c.Step.Name, At: c.At, Values: c.Values, Goroutine: c.Goroutine, Worker: c.Worker}
	for up := c.Parent; up != nil && seen.Parent == nil; up = up.Parent {
		seen.Parent, _ = up.State.(*agent.Call)
		if up == c.Parent && seen.Parent != nil {
			seen.Line = c.Line
		}
	}
	return p.host.Begin(seen)
}

// Exit publishes that a call has ended.
func (p *inside) Exit(c *uprobe.Call, at time.Time, err error, values []any) {
	call, _ := c.State.(*agent.Call)
	call.End(at, err, values)
	if p.holder != nil {
		p.holder.noteWorker(c, true)
	}
	p.stopped(c, (*agent.Call).StopEnded)
}

// Lost counts what found no room.
func (p *inside) Lost(n int) { p.host.Agent.Lost(n) }

// Refused notes that a step is not shown any more.
func (p *inside) Refused(s *probes.Step, why string) {
	p.host.Note(fmt.Sprintf("the %s probe does not show %s: %s; its table of where values lie does not fit this kubelet", p.host.name, s.Name, why), nil)
}

// agrees reports whether a call's pod, as it was read from memory, is the one that the API
// server or the kubelet's list has under its uid. If not, the step is refused.
func (p *inside) agrees(c *uprobe.Call) bool {
	if len(c.Values) == 0 {
		return true
	}
	read, ok := c.Values[0].(probes.PodRef)
	if !ok || read.Name == "" {
		return true
	}
	namespace, name, known := p.host.Target().specs.named(read.UID)
	if !known || namespace == read.Namespace && name == read.Name {
		return true
	}
	p.refused[c.Step.Name] = true
	p.Refused(c.Step, fmt.Sprintf("it reads pod %s as %s/%s, which is %s/%s", read.UID, read.Namespace, read.Name, namespace, name))
	return false
}
