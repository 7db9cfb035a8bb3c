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
	"github.com/podstep/podstep/probes/clock"
	"github.com/podstep/podstep/probes/delve"
	"github.com/podstep/podstep/probes/inside"
	"github.com/podstep/podstep/probes/inside/park"
	"github.com/podstep/podstep/probes/inside/reading"
	"github.com/podstep/podstep/probes/reasons"
	"github.com/podstep/podstep/probes/uprobe"
	"github.com/podstep/podstep/probes/uprobe/holdproc"
)

// Delve is the probe that sees the steps through Delve, which stops the whole kubelet at each step.
var Delve = Kind{Name: delve.Name, Abilities: delveAbilities, New: newDebugged, OnRequest: true}

func delveAbilities(c *probes.Catalogue, t *Target) probes.Abilities {
	if delve.Unsupported != nil {
		return uprobe.NoAbilities(delve.Unsupported).As(delve.Name)
	}
	can := abilitiesInside(c, t, noHoldsByDelve(t)).As(delve.Name)
	p, err := t.looksInside()
	if err != nil {
		return can
	}
	for step, why := range p.NoBreakpoints() {
		can.Steps[step] = probes.Ability{Unseen: why}
	}
	for step, x := range can.Steps {
		if x.Closely { // the kubelet would stand still too often
			can.Steps[step] = probes.Ability{Unseen: reasons.HigherTier.Reason()}
		}
	}
	return can
}

// noHoldsByDelve is noHolds for a Delve. One of somebody else's stops the whole kubelet, and makes none of its threads wait.
func noHoldsByDelve(t *Target) probes.Reason {
	if t.remote != "" {
		return probes.Reason{}
	}
	return noHolds(t)
}

// errRisk is the reason why the delve probe does not start without --risk-the-kubelet.
var errRisk = errors.New("a Delve puts breakpoints into the kubelet's code, and stops the whole kubelet for some milliseconds at each. podstep takes them back however its processes end. " +
	"Say --risk-the-kubelet if you want that; the uprobe probe sees the same steps without any of it")

// debugged publishes what Delve sees inside of the kubelet.
type debugged struct {
	within
	client  *delve.Client
	watched *uprobe.Watched
}

func newDebugged(t *Target) (Probe, error) {
	p, err := newFollowing(delve.Name, t, makeDebugged)
	if err != nil {
		return nil, err
	}
	if t.remote != "" {
		p.last = func(pid int) error {
			return fmt.Errorf("the kubelet that the Delve at %s debugged, process %d, has ended: start a Delve for the next one, and podstep attach again", t.remote, pid)
		}
	}
	return p, nil
}

func makeDebugged(t *Target) (processProbe, error) {
	if delve.Unsupported != nil {
		return nil, delve.Unsupported
	}
	p, err := makeInside(t)
	if err != nil {
		return nil, err
	}
	if t.remote == "" && !t.riskKubelet {
		return nil, errRisk
	}
	return &debugged{within: *p}, nil
}

// beginWithin is how long Delve may take to read the kubelet's program and to put its
// breakpoints there.
const beginWithin = time.Minute

// delveMeets bounds the time between the record of a call and the report of its hold on a busy machine. The debugger
// process sends one after the other.
const delveMeets = 20 * time.Second

// Start makes Delve stop the kubelet at the steps' functions.
func (p *debugged) Start(ctx context.Context, h *Host) (err error) {
	p.host = h
	k := p.target.current()
	ctx, cancel := context.WithTimeout(ctx, beginWithin)
	defer cancel()
	handler := delve.Handler{
		Begun:   func(b delve.Begun) { p.watched = p.probe.Watch(p.catalogue, b.Goroutines, p) },
		Records: func(all []reading.Record) { p.watched.Take(all) },
		Held:    p.held, Ended: func(e inside.Ended) { p.holder.ended(e) },
		Stats: p.stats, Note: func(text string) { h.Note(text, nil) },
		Lost: p.lost,
	}
	bounds, api := p.target.bounds(ctx)
	if _, refused := bounds.LongestStop(clock.Now()); refused != "" {
		return fmt.Errorf("stop the whole kubelet: not now: %s", refused)
	}
	options := delve.Options{PID: k.PID, Started: k.Started, Remote: p.target.remote, NotWithin: p.probe.Locking(), Lines: p.lineRule(), Shown: shownVariables(p.catalogue), Bounds: bounds}
	var ready delve.Ready
	if p.client, ready, err = delve.Start(ctx, options, p.target.debug, handler); err != nil {
		return err
	}
	if ready.PID != k.PID {
		return errors.Join(fmt.Errorf("the Delve at %s debugs process %d, and the kubelet is process %d", p.target.remote, ready.PID, k.PID), p.client.Close())
	}
	if p.holds(noHoldsByDelve(p.target)) {
		if p.holder, err = newHolder(ctx, h, p.catalogue, &chosen{Probe: p.probe, places: h.Places, send: p.client.Want}, delveMeets, p.startHolding); err != nil {
			return errors.Join(err, p.client.Close())
		}
	}
	begun, err := p.client.Begin(ctx, p.probe.Plan())
	if err != nil {
		return errors.Join(err, p.Stop(ctx))
	}
	if p.holder != nil {
		p.holder.begin()
	}
	h.OnDebug(p.debugger(begun.Parks))
	h.Working(nil)
	p.noteSource()
	h.Print("Delve %s stops the whole kubelet at each step; it stood still for %v to begin. A pod is held by stopping %s",
		ready.Delve, begun.Stood.Round(time.Millisecond), map[bool]string{true: "its goroutine alone", false: "the whole kubelet, for 8 s at most"}[begun.Parks])
	if ready.NoNet != "" {
		h.Note("if podstep's debugger process dies, the kubelet dies at its next breakpoint: "+ready.NoNet, nil)
	}
	h.Go(p.watchEnd)
	if p.holder != nil && api != nil {
		h.Go(func() { p.watchBounds(api, bounds) })
	}
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

// watchEnd makes the probe fail when Delve ends, unless the kubelet has ended too.
func (p *debugged) watchEnd() {
	select {
	case <-p.client.Done():
	case <-p.host.Context().Done():
		return
	}
	select {
	case <-p.host.Context().Done(): // the probe begins anew with the next kubelet
	case <-time.After(endSeenWithin):
		if !p.target.hasEnded() {
			p.host.Failed(p.client.Err())
		}
	}
}

// endSeenWithin is how long podstep may take to see that the kubelet has ended.
const endSeenWithin = 2 * time.Second

// gone ends the calls under way.
func (p *debugged) gone(why error) {
	if p.watched != nil {
		p.watched.End(why)
	}
}

// Stop makes Delve leave the kubelet, with no breakpoint in it.
func (p *debugged) Stop(context.Context) error {
	if p.holder != nil {
		p.holder.close()
	}
	return p.client.Close()
}

// held handles Delve's report that it holds a goroutine.
func (p *debugged) held(h delve.Held) {
	if h.Whole {
		p.host.Note(fmt.Sprintf("the whole kubelet stands still, until %s at most: %s", h.Until.Time().Format(time.TimeOnly), h.Why), nil)
	}
	if h.Line != nil {
		p.heldInside(h)
		return
	}
	p.holder.held(h.Held)
}

// stats adds to the probe's state how long the kubelet has stood still.
func (p *debugged) stats(s delve.Stats) {
	p.host.Remark(reasons.Stood.With("all", s.Stood.Round(time.Millisecond).String(), "stops", fmt.Sprint(s.Stops),
		"worst", s.Worst.Round(time.Millisecond).String(), "held", s.Held.Round(time.Millisecond).String(), "twice", fmt.Sprint(s.Twice)))
}

// answerLook asks Delve about a held goroutine, or about another goroutine of its pod.
func (p *debugged) answerLook(ctx context.Context, goroutine uint64, req *agentpb.LookRequest) (*agentpb.LookResponse, error) {
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

// startHolding makes the debugger process the stopper.
func (p *debugged) startHolding(context.Context, holdproc.Handler) (stopper, error) {
	select {
	case <-p.client.Done():
		return nil, p.client.Err()
	default:
	}
	return delveStopper{p.client}, nil
}

// chosen is a looker that lets the debugger process choose the goroutines that are stopped.
type chosen struct {
	*uprobe.Probe
	places    func() map[uint64]bool // of the breakpoints at no step
	send      func(delve.Wanted)
	now, sent delve.Wanted
}

// Arm replaces the set of steps at which goroutines are stopped.
func (c *chosen) Arm(steps map[string]uprobe.Armed) error {
	c.sendChanged(c.ArmedPlaces(steps))
	return nil
}

// sendChanged sends what is wanted if it has changed: the holder calls Arm ten times a second, and the kubelet stands
// still for each message.
func (c *chosen) sendChanged(places map[int]bool) {
	c.now.Armed, c.now.Lines = places, c.places()
	if !c.now.Equal(&c.sent) {
		c.send(c.now)
		c.sent = c.now
	}
}

// Want replaces the set of pods whose goroutines are stopped. Arm sends it.
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

// delveStopper is the debugger process as a stopper. chosen tells it where to stop.
type delveStopper struct{ *delve.Client }

func (s delveStopper) Arm(_ context.Context, places []inside.Place) (map[uint64]park.RefusedError, error) {
	s.Rule(places)
	return nil, nil
}

func (delveStopper) Disarm(context.Context) (holdproc.Stats, error) { return holdproc.Stats{}, nil }

// Close leaves the debugger process to the probe.
func (delveStopper) Close() {}
