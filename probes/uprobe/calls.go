//go:build linux

package uprobe

import (
	"errors"
	"time"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/memory"
)

var (
	// errPanicked is the error of a call whose function did not return.
	errPanicked = errors.New("the function did not return: it panicked, or its goroutine has ended")
	// errUnseen is that of a call whose return may be among records that were lost.
	errUnseen = errors.New("it is not known how the function returned: records were lost")
)

// calls makes calls of records.
type calls struct {
	plan    *plan
	errors  *errorTypes
	clock   clock
	handler Handler
	turn    *probes.Step    // that of role turn, if no function of it is seen
	workers map[uint64]bool // by the address of a goroutine's first function
	bias    uint64          // what is added to addresses as they were linked
	lost    func() uint64   // how many records were lost
	known   uint64          // how many of them have been reported

	goroutines map[uint64]*goroutine
	keepPast   bool                      // calls that have ended are asked for
	high       uint64                    // the highest number of a goroutine that was seen
	old        uint64                    // the highest one before anything was seen
	room       int                       // for goroutines, before some are forgotten
	pending    map[uint64]*pendingRecord // by goroutine
	beliefs    map[*step]belief
}

// newCalls makes calls of what the probe sees, for a handler.
func newCalls(p *Probe, c *probes.Catalogue, h Handler) *calls {
	return &calls{
		plan: p.plan, errors: p.errors, clock: p.clock, handler: h, turn: p.turn(c), workers: p.workers(), bias: p.bias,
		goroutines: map[uint64]*goroutine{}, room: fewGoroutines, pending: map[uint64]*pendingRecord{}, beliefs: map[*step]belief{},
	}
}

// clock turns the kernel's monotonic time into ours.
type clock struct {
	at time.Time
	ns uint64
}

func (c clock) time(ns uint64) time.Time { return c.at.Add(time.Duration(int64(ns - c.ns))) }

// take takes a record.
func (c *calls) take(r *record) {
	if uint64(r.Place) >= c.plan.measuredPlace() {
		return
	}
	if int(r.Place) >= len(c.plan.places) {
		c.started(r)
		return
	}
	at := c.plan.places[r.Place]
	if r.Flags&recordElement != 0 {
		c.element(r, at)
		return
	}
	if p := c.pending[r.G]; p != nil { // elements were lost
		c.finish(p)
	}
	if len(at.side.lists) > 0 {
		if p := expect(r, at); p.left > 0 {
			c.pending[r.G] = p
			return
		}
	}
	c.event(r, at, nil)
}

// event makes a call begin or end.
func (c *calls) event(r *record, at *planned, lists *[maxLists][]probes.PodRef) {
	if r.Goid == 0 || r.Goid > maxGoid {
		return // no goroutine has such a number: podstep would not know whose call it is
	}
	now := c.clock.time(r.Time)
	if at.exit {
		c.exit(r, at, lists, now)
		return
	}
	pods := podsOf(r, at, lists)
	if !c.believes(at.step, pods) {
		return
	}
	c.high = max(c.high, r.Goid)
	g := c.goroutine(r, now)
	g.endFrom(r.Depth, func(gone *Call) { c.vanish(g, gone, now) })
	call := &Call{
		Step: at.step.Step, At: now, Goroutine: r.Goid, Worker: g.worker, Stopped: stopOf(r, at), depth: r.Depth, lost: c.known, high: c.high,
	}
	call.Values = append(pods, fieldsOf(r, at)...)
	c.endTurn(g, call)
	call.Parent = g.top()
	if len(g.open) > 0 {
		call.Line = c.line(r, call.Parent)
	}
	c.begin(g, call)
}

// line is from where the function of a call made the one of a record.
func (c *calls) line(r *record, by *Call) uint32 {
	var returns [maxCallers]uint64
	for i, at := range r.Callers {
		returns[i] = at - c.bias
	}
	return c.plan.callers.Line(returns[:], by.Step.Symbol)
}

func (c *calls) begin(g *goroutine, call *Call) {
	g.open = append(g.open, call)
	c.goroutines[call.Goroutine] = g // one whose last call has just ended is not there any more
	c.handler.Enter(call)
}

// losses reports records that were lost since it was last called.
func (c *calls) losses() {
	if n := c.lost(); n > c.known {
		c.handler.Lost(int(n - c.known))
		c.known = n
	}
}

// exit ends a call. One that began before the probe did is not known.
func (c *calls) exit(r *record, at *planned, lists *[maxLists][]probes.PodRef, now time.Time) {
	g := c.goroutines[r.Goid]
	if g == nil {
		return
	}
	g.endFrom(r.Depth+1, func(gone *Call) { c.vanish(g, gone, now) })
	n := len(g.open)
	if n == 0 || g.open[n-1].depth != r.Depth || g.open[n-1].Step != at.step.Step {
		if at.step.Root { // the goroutine ends
			g.endFrom(0, func(gone *Call) { c.vanish(g, gone, now) })
		}
		return
	}
	call := g.open[n-1]
	g.open = g.open[:n-1]
	err, _ := c.errors.error(r, at.side.err)
	pods := podsOf(r, at, lists)
	if !c.believes(at.step, pods) {
		c.end(g, call, now, err, nil)
		return
	}
	values := append(append([]any{c.quiet(r, at)}, pods...), fieldsOf(r, at)...)
	call.Stopped = stopOf(r, at)
	c.end(g, call, now, err, values)
	if call.Step.Story.Role == probes.RoleBegin {
		c.beginTurn(g, call, now, values)
	}
}

// vanish ends a call whose frame is no more, though no return of it was seen.
func (c *calls) vanish(g *goroutine, call *Call, now time.Time) {
	call.Stopped = nil // it was of the entry
	err := errPanicked
	if c.lost() > call.lost {
		err = errUnseen
	}
	c.end(g, call, now, err, nil)
}

func (c *calls) end(g *goroutine, call *Call, now time.Time, err error, values []any) {
	call.ended = true
	c.handler.Exit(call, now, err, values)
	call.Stopped = nil
	if call.Parent == g.turn && err != nil {
		g.failed = err
	}
	if call == g.turn {
		g.turn = nil
	}
	switch {
	case c.keepPast:
		g.past = append(g.past[max(0, len(g.past)-mostPast+1):], call)
	case g.idle():
		delete(c.goroutines, call.Goroutine)
	}
}

// quiet reports whether a call is worth no event.
func (c *calls) quiet(r *record, at *planned) bool {
	if at.step.quiet == nil {
		return false
	}
	values := map[string]any{}
	for _, s := range at.side.quiet {
		if s.form.Kind == memory.Interface {
			if method, ok := r.number(s.slot + 1); ok {
				values[s.name] = c.errors.name(method)
			}
			continue
		}
		values[s.name] = r.value(s)
	}
	return holds(at.step.quiet, values)
}

// podsOf are what a record has of the call's pods, as the agent takes them.
func podsOf(r *record, at *planned, lists *[maxLists][]probes.PodRef) (out []any) {
	for i := range at.side.lists {
		if lists == nil {
			out = append(out, nil)
			continue
		}
		out = append(out, lists[i])
	}
	if len(at.side.pods) > 0 {
		out = append(out, r.pod(at.side.pods))
	}
	return out
}

func fieldsOf(r *record, at *planned) (out []any) {
	for _, s := range at.side.fields {
		out = append(out, r.value(s))
	}
	return out
}
