package attach

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/delve"
	"github.com/podstep/podstep/probes/reasons"
	"github.com/podstep/podstep/probes/uprobe"
	"github.com/podstep/podstep/probes/uprobe/holdproc"
	"github.com/podstep/podstep/probes/uprobe/park"
)

// Delve is the probe that has Delve look: it stops the whole kubelet at each step.
var Delve = Kind{Name: delve.Name, Abilities: delveAbilities, New: newDebugged, OnRequest: true}

func delveAbilities(c *probes.Catalogue, t *Target) probes.Abilities {
	can := insideAbilities(c, t).As(delve.Name)
	p, err := t.looksInside()
	if err != nil {
		return can
	}
	for step := range p.NoBreakpoints() {
		can.Steps[step] = probes.Ability{Unseen: reasons.NoBreakpoint.Reason()}
	}
	return can
}

// errRisk is why Delve does not stop a kubelet that nobody has given up to that.
var errRisk = errors.New("a Delve puts breakpoints into the kubelet's code. podstep takes them back however podstep itself ends; " +
	"if its debugger process is killed too, the kubelet dies at the next one. Say --risk-the-kubelet if you want that; the uprobe probe sees the same steps without any of it")

// debugged publishes what Delve sees inside of the kubelet.
type debugged struct {
	inside
	client  *delve.Client
	watched *uprobe.Watched
}

func newDebugged(t *Target) (Probe, error) {
	p, err := makeInside(t)
	if err != nil {
		return nil, err
	}
	if t.remote == "" && !t.riskKubelet {
		return nil, errRisk
	}
	return &debugged{inside: *p}, nil
}

// beginWithin is how long Delve may take to read the kubelet's program and to put its
// breakpoints there.
const beginWithin = time.Minute

// delveMeets bounds how long the record of a call and its hold, which the debugger process sends
// one after the other, are apart on a machine that is busy.
const delveMeets = 20 * time.Second

// Start has Delve stop the kubelet at the steps' functions.
func (p *debugged) Start(ctx context.Context, h *Host) (err error) {
	p.host = h
	k := &p.target.Kubelet
	ctx, cancel := context.WithTimeout(ctx, beginWithin)
	defer cancel()
	handler := delve.Handler{
		Begun:   func(b delve.Begun) { p.watched = p.probe.Watch(p.catalogue, b.Began, b.Goroutines, p) },
		Records: func(all []uprobe.Record) { p.watched.Take(all) },
		Held:    p.held, Ended: func(e holdproc.Ended) { p.holder.ended(e) },
		Stats: p.stats, Note: func(text string) { h.Note(text, nil) },
		Lost: p.lost,
	}
	options := delve.Options{PID: k.PID, Started: k.Started, Remote: p.target.remote, NotWithin: p.probe.Locking(), Lines: p.lineRule()}
	var ready delve.Ready
	if p.client, ready, err = delve.Start(ctx, options, p.target.debug, handler); err != nil {
		return err
	}
	if ready.PID != k.PID {
		return errors.Join(fmt.Errorf("the Delve at %s debugs process %d, and the kubelet is process %d", p.target.remote, ready.PID, k.PID), p.client.Close())
	}
	if p.target.allowHolds {
		if p.holder, err = newHolder(ctx, h, p.catalogue, &chosen{Probe: p.probe, places: h.Places, send: p.client.Want}, delveMeets, p.startHolding); err != nil {
			return errors.Join(err, p.client.Close())
		}
	}
	begun, err := p.client.Begin(ctx, p.probe.Reading())
	if err != nil {
		return errors.Join(err, p.Stop(ctx))
	}
	h.OnDebug(p.debugger(begun.Parks))
	h.Working(nil)
	h.Print("Delve %s stops the whole kubelet at each step; it stood still for %v to begin. A pod is held by stopping %s",
		ready.Delve, begun.Stood.Round(time.Millisecond), map[bool]string{true: "its goroutine alone", false: "the whole kubelet, for 8 s at most"}[begun.Parks])
	h.Go(p.watchEnd)
	return nil
}

// lost counts reports of the debugger process that found no room.
func (p *debugged) lost(n int) {
	if p.watched == nil {
		p.host.Agent.Lost(n)
		return
	}
	p.watched.Lost(n)
}

// watchEnd notes that Delve has gone.
func (p *debugged) watchEnd() {
	select {
	case <-p.client.Done():
		p.host.Failed(p.client.Err())
	case <-p.host.Context().Done():
	}
}

// Stop has Delve leave the kubelet, with no breakpoint in it.
func (p *debugged) Stop(context.Context) error {
	if p.holder != nil {
		p.holder.close()
	}
	return p.client.Close()
}

// held is that Delve holds a goroutine.
func (p *debugged) held(h delve.Held) {
	if h.Whole {
		p.host.Note(fmt.Sprintf("the whole kubelet stands still, until %s at most: %s", h.Until.Format(time.TimeOnly), h.Why), nil)
	}
	if h.Line != nil {
		p.heldInside(h)
		return
	}
	p.holder.held(h.Held)
}

// stats keeps how long the kubelet stood still with the probe's state.
func (p *debugged) stats(s delve.Stats) {
	p.host.Remark(reasons.Stood.With("all", s.Stood.Round(time.Millisecond).String(), "stops", fmt.Sprint(s.Stops),
		"worst", s.Worst.Round(time.Millisecond).String(), "held", s.Held.Round(time.Millisecond).String()))
}

// look has Delve answer a question about a goroutine that is held, or about another one of its
// pod.
func (p *debugged) look(ctx context.Context, goroutine uint64, req *agentpb.LookRequest) (*agentpb.LookResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	all := p.goroutines(goroutine)
	q := delve.Question{Goroutine: goroutine, Frame: int(req.GetFrame()), Expression: req.GetExpression()}
	if other := req.GetGoroutine(); other != 0 && other != goroutine {
		i := slices.IndexFunc(all, func(r uprobe.Running) bool { return r.Number == other })
		if i < 0 {
			return nil, fmt.Errorf("no call about the pod is under way on goroutine %d any more", other)
		}
		q.Goroutine, q.G = other, all[i].G
	}
	a, err := p.client.Ask(ctx, q)
	if err != nil {
		return nil, err
	}
	out := &agentpb.LookResponse{Goroutines: goroutinesProto(all), Without: a.Without, Stood: durationpb.New(a.Stood), Arguments: variables(a.Arguments), Locals: variables(a.Locals)}
	for _, f := range a.Frames {
		out.Frames = append(out.Frames, frameProto(&f))
	}
	if a.Value != nil {
		out.Value = variables([]delve.Variable{*a.Value})[0]
	}
	return out, nil
}

// lookWithin bounds how long Delve may take for an answer.
const lookWithin = 20 * time.Second

func variables(all []delve.Variable) (out []*agentpb.Variable) {
	for _, v := range all {
		out = append(out, &agentpb.Variable{Name: v.Name, Type: v.Type, Value: v.Value})
	}
	return out
}

// startHolding has the debugger process be the stopper.
func (p *debugged) startHolding(context.Context, holdproc.Handler) (stopper, error) {
	return delveStopper{p.client}, nil
}

// chosen has the debugger process choose who is stopped.
type chosen struct {
	*uprobe.Probe
	places    func() map[uint64]bool // of breakpoints that are at no step
	send      func(delve.Wanted)
	now, sent delve.Wanted
}

// Arm has goroutines be stopped at these steps from now on, and at no others.
func (c *chosen) Arm(steps map[string]uprobe.Armed) error {
	c.arm(c.ArmedPlaces(steps))
	return nil
}

// arm sends what is wanted if it has changed: the holder looks at it ten times a second, and
// the kubelet stands still for each message.
func (c *chosen) arm(places map[int]bool) {
	c.now.Armed, c.now.Lines = places, c.places()
	if !c.now.Equal(&c.sent) {
		c.send(c.now)
		c.sent = c.now
	}
}

// Want has goroutines be stopped of these pods, and no others.
func (c *chosen) Want(uids []string, goroutines []uint64) error {
	c.now.UIDs, c.now.Goroutines = map[string]bool{}, map[uint64]bool{}
	for _, uid := range uids {
		c.now.UIDs[uid] = true
	}
	for _, g := range goroutines {
		c.now.Goroutines[g] = true
	}
	return nil
}

// delveStopper is the debugger process as a stopper: what it is to stop at is known by chosen.
type delveStopper struct{ *delve.Client }

func (s delveStopper) Arm(_ context.Context, places []holdproc.Place) (map[uint64]park.RefusedError, error) {
	s.Rule(places)
	return nil, nil
}

func (delveStopper) Disarm(context.Context) (holdproc.Stats, error) { return holdproc.Stats{}, nil }

// Close leaves the debugger process to the probe.
func (delveStopper) Close() {}
