package attach

import (
	"context"
	"errors"
	"fmt"
	"runtime"
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
	return abilitiesInside(c, t, noHoldsByKernel(t))
}

// noHoldsByKernel returns why no pod can be held through the program in the kernel; none if pods can.
func noHoldsByKernel(t *Target) probes.Reason {
	here := uprobe.Machine{Arch: runtime.GOARCH, OwnPIDs: uprobe.OwnPIDs("/")}
	if why := here.NoHold(); !why.IsZero() {
		return why
	}
	return noHolds(t)
}

// noHolds returns why no thread of the kubelet can be made to wait; none if threads can. The wait is a system call that the
// kubelet itself never makes.
func noHolds(t *Target) (why probes.Reason) {
	if uprobe.Seccomp("/", t.current().PID) {
		why = reasons.Seccomp.Reason()
	}
	return why
}

// abilitiesInside returns the abilities of a probe that looks into the kubelet, and holds pods there unless cannot
// states why not.
func abilitiesInside(c *probes.Catalogue, t *Target, cannot probes.Reason) probes.Abilities {
	p, err := t.looksInside()
	if err != nil {
		return uprobe.NoAbilities(err)
	}
	holds := uprobe.Holds{Allowed: t.allowHolds, Cannot: cannot}
	if t.hosts(CRI.Name) {
		holds.Except = map[string]probes.Reason{stageCRI: reasons.HeldByCRI.Reason()}
	}
	return p.Abilities(c.In(t.current().Version), holds)
}

const stageCRI = "cri"

// within publishes the calls that are seen inside the kubelet as events of the agent.
type within struct {
	catalogue *probes.Catalogue
	probe     *uprobe.Probe
	host      *Host
	target    *Target
	holder    *holder // nil: the probe holds nothing
	// refused has the steps at which a pod was read under a wrong name. Only the probe's goroutine uses it.
	refused map[string]bool
	closely *closely // nil: the probe sees the same all the time
}

func newInside(t *Target) (Probe, error) {
	p, err := newFollowing(uprobe.Name, t, func(t *Target) (processProbe, error) {
		p, err := makeInside(t)
		if err != nil {
			return nil, err
		}
		return p, nil
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// makeInside prepares the part of a probe that publishes what is seen inside a kubelet.
func makeInside(t *Target) (*within, error) {
	c, err := probes.Load()
	if err != nil {
		return nil, err
	}
	p, err := t.looksInside()
	if err != nil {
		return nil, err
	}
	return &within{catalogue: c.In(t.current().Version), probe: p, target: t, refused: map[string]bool{}}, nil
}

// Start makes the kernel report calls of the steps' functions.
func (p *within) Start(ctx context.Context, h *Host) (err error) {
	p.host = h
	if p.holds(noHoldsByKernel(p.target)) {
		if p.holder, err = newHolder(ctx, h, p.catalogue, p.probe, meetWithin, p.startHolding); err != nil {
			return err
		}
	}
	p.probe.Watched = h.Agent.Watched
	if err := p.probe.Start(p.catalogue, p); err != nil {
		return errors.Join(err, p.Stop(ctx))
	}
	h.OnBehind(p.probe.ReadNow)
	p.lookClosely()
	if p.holder != nil {
		p.holder.begin()
	}
	h.Working(nil)
	p.noteSource()
	h.Go(p.watchCost)
	return nil
}

// holds reports whether the probe is to hold pods. cannot is why it cannot, if it cannot; it is printed.
func (p *within) holds(cannot probes.Reason) bool {
	if cannot.IsZero() {
		cannot = p.probe.NoHold()
	}
	if p.target.allowHolds && !cannot.IsZero() {
		p.host.Print("no pod can be held inside the kubelet: %s", cannot.Text().En)
	}
	return p.target.allowHolds && cannot.IsZero()
}

// noteSource notes how the kubelet differs from the release of its version.
func (p *within) noteSource() {
	if other := p.probe.OtherSource(); !other.IsZero() {
		p.host.Note(other.Text().En, nil)
	}
}

// startHolding starts the hold process.
func (p *within) startHolding(ctx context.Context, h holdproc.Handler) (stopper, error) {
	k := p.target.current()
	return holdproc.Start(ctx, holdproc.Options{PID: k.PID, Started: k.Started, NotWithin: p.probe.Locking(), Packages: lookedAt(p.catalogue)}, p.target.hold, h)
}

// Stop ends that.
func (p *within) Stop(context.Context) error {
	p.endClosely()
	if p.holder != nil {
		p.holder.close()
	}
	return p.probe.Stop()
}

// gone ends the calls under way.
func (p *within) gone(why error) { p.probe.End(why) }

// Enter publishes that a call has begun.
func (p *within) Enter(c *uprobe.Call) {
	if p.holder != nil {
		p.holder.noteWorker(c, false)
	}
	if !p.refused[c.Step.Name] && p.agrees(c) && p.isWanted(c) {
		c.State = p.begin(c)
	}
	p.stopped(c, func(call *agent.Call, ctx context.Context) { _ = call.Stop(ctx) })
}

// stopped makes the holder hold a call that the program in the kernel has stopped, until stop returns. A call that is
// not shown goes on at once.
func (p *within) stopped(c *uprobe.Call, stop func(*agent.Call, context.Context)) {
	if p.holder == nil || c.Stopped == nil {
		return
	}
	call, _ := c.State.(*agent.Call)
	p.holder.stopped(*c.Stopped, func(ctx context.Context) { stop(call, ctx) })
}

// begin publishes that a call has begun, within the innermost shown call around it.
func (p *within) begin(c *uprobe.Call) *agent.Call {
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
func (p *within) Exit(c *uprobe.Call, at time.Time, err error, values []any) {
	call, _ := c.State.(*agent.Call)
	if errors.Is(err, uprobe.ErrUnseen) {
		call.EndUnseen(at)
	} else {
		call.End(at, err, values)
	}
	if p.holder != nil {
		p.holder.noteWorker(c, true)
	}
	p.stopped(c, (*agent.Call).StopEnded)
}

// Lost counts records that were lost for want of room.
func (p *within) Lost(n int) { p.host.Agent.Lost(n) }

// Refused notes that a step is not shown any more, and why.
func (p *within) Refused(s *probes.Step, why string) {
	p.host.Note(fmt.Sprintf("the %s probe does not show %s: %s; its table of where values lie does not fit this kubelet", p.host.name, s.Name, why), nil)
}

// agrees reports whether a call's pod, as read from memory, has the name that the API server or the kubelet's list
// has for its uid. If not, it refuses the step.
func (p *within) agrees(c *uprobe.Call) bool {
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
