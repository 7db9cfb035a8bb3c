//go:build linux

package uprobe

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/clock"
	"github.com/podstep/podstep/probes/inside/reading"
	"github.com/podstep/podstep/probes/memory"
)

var (
	// errPanicked is the error of a call whose function did not return.
	errPanicked = errors.New("the function did not return: it panicked, or its goroutine has ended")
	// ErrUnseen is the error of a call whose return was not seen: it may be among records that were lost, or nobody looked any
	// more. Nothing is wrong with the call.
	ErrUnseen = errors.New("it is not known how the function returned: nobody saw it")
)

// calls makes calls from records.
type calls struct {
	plan    *plan
	errors  *errorTypes
	handler Handler
	turn    *probes.Step    // the step of role turn, if it has no function that is seen
	workers map[uint64]bool // by the address of a goroutine's first function
	bias    uint64          // what is added to addresses as they were linked
	// nameless: the call of a worker's life does not name its pod.
	nameless bool
	lost     func() uint64 // how many records were lost
	known    uint64        // how many of them have been reported

	goroutines map[uint64]*goroutine
	keepPast   bool                      // keep calls that have ended, in goroutine.past
	high       uint64                    // the highest number of a goroutine that was seen
	old        uint64                    // the highest one before anything was seen
	room       int                       // for goroutines, before some are forgotten
	pending    map[uint64]*pendingRecord // by goroutine
	beliefs    map[*step]belief
}

// newCalls makes calls from the probe's records, for a handler.
func newCalls(p *Probe, c *probes.Catalogue, h Handler) *calls {
	return &calls{
		plan: p.plan, errors: p.errors, handler: h, turn: p.turn(c), workers: p.workers(), bias: p.bias, nameless: p.plan.namelessWorkers(),
		goroutines: map[uint64]*goroutine{}, room: fewGoroutines, pending: map[uint64]*pendingRecord{}, beliefs: map[*step]belief{},
	}
}

// addRecord makes calls begin and end as a record says.
func (c *calls) addRecord(r *reading.Record) {
	if uint64(r.Place) >= c.plan.measuredPlace() {
		return
	}
	if int(r.Place) >= len(c.plan.places) {
		c.started(r)
		return
	}
	at := c.plan.places[r.Place]
	if r.Flags&reading.FlagElement != 0 {
		c.element(r, at)
		return
	}
	if p := c.pending[r.G]; p != nil { // its missing elements are lost
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
func (c *calls) event(r *reading.Record, at *planned, lists *[maxLists][]probes.PodRef) {
	if r.Goid == 0 || r.Goid > maxGoid {
		return // no goroutine has such a number: podstep would not know whose call it is
	}
	now := clock.Time(r.Time).Time()
	if at.exit {
		c.exitCall(r, at, lists, now)
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
		Step: at.step.Step, At: now, Goroutine: r.Goid, Worker: g.worker, Stopped: stopOf(r, at), depth: r.Depth, lost: c.known, high: c.high, Closely: at.step.closely,
	}
	call.Values = append(pods, fieldsOf(r, at)...)
	c.endTurn(g, call)
	call.Parent = g.top()
	if len(g.open) > 0 {
		call.Line = c.line(r, call.Parent)
	}
	c.nameWorker(g, call)
	c.beginCall(g, call)
}

// line returns the line at which a call's function made the call that a record begins.
func (c *calls) line(r *reading.Record, by *Call) uint32 {
	var returns [reading.MaxCallers]uint64
	for i, at := range r.Callers {
		returns[i] = at - c.bias
	}
	return c.plan.callers.Line(returns[:], by.Step.Symbol)
}

func (c *calls) beginCall(g *goroutine, call *Call) {
	g.open = append(g.open, call)
	c.goroutines[call.Goroutine] = g // it was removed if its last call has just ended
	if c.waitsForName(call) {
		g.unnamed = call
		return
	}
	c.handler.Enter(call)
}

// losses reports the records that were lost since its last call.
func (c *calls) losses() {
	if n := c.lost(); n > c.known {
		c.handler.Lost(int(n - c.known))
		c.known = n
	}
}

// exitCall ends a call. A call that began before the probe did is not known.
func (c *calls) exitCall(r *reading.Record, at *planned, lists *[maxLists][]probes.PodRef, now time.Time) {
	g := c.goroutines[r.Goid]
	if g == nil {
		return
	}
	g.endFrom(r.Depth+1, func(gone *Call) { c.vanish(g, gone, now) })
	n := len(g.open)
	if n == 0 || g.open[n-1].depth != r.Depth || g.open[n-1].Step != at.step.Step {
		if at.step.Root { // the goroutine ends
			g.pod = ""
			g.endFrom(0, func(gone *Call) { c.vanish(g, gone, now) })
		}
		return
	}
	call := g.open[n-1]
	g.open = g.open[:n-1]
	err, _ := c.errors.error(r, at.side.err)
	pods := podsOf(r, at, lists)
	if !c.believes(at.step, pods) {
		c.endCall(g, call, now, err, nil)
		c.endUnwatched(g, now)
		return
	}
	values := append(append([]any{c.quiet(r, at)}, pods...), fieldsOf(r, at)...)
	call.Stopped = stopOf(r, at)
	c.endCall(g, call, now, err, values)
	if call.Step.Story.Role == probes.RoleBegin {
		c.beginTurn(g, call, now, values)
	}
	c.endUnwatched(g, now)
}

// vanish ends a call whose frame has gone, though no return of it was seen.
func (c *calls) vanish(g *goroutine, call *Call, now time.Time) {
	call.Stopped = nil // that stop was at the entry
	err := errPanicked
	if call.unwatched || c.lost() > call.lost {
		err = ErrUnseen
	}
	c.endCall(g, call, now, err, nil)
}

// endAll ends all calls under way: no more records come, and nothing is known of how the calls ended. A goroutine has a
// higher number than the one that started it, so the calls within others end first.
func (c *calls) endAll(why error, now time.Time) {
	for _, number := range slices.Backward(slices.Sorted(maps.Keys(c.goroutines))) {
		g := c.goroutines[number]
		g.endFrom(0, func(call *Call) {
			call.Stopped = nil
			c.endCall(g, call, now, why, nil)
		})
	}
	clear(c.goroutines)
	clear(c.pending)
}

func (c *calls) endCall(g *goroutine, call *Call, now time.Time, err error, values []any) {
	call.ended = true
	if call == g.unnamed {
		g.unnamed = nil
	} else {
		c.handler.Exit(call, now, err, values)
	}
	if call.Step.Story.Role == probes.RoleWorker {
		g.pod = ""
	}
	call.Stopped = nil
	if call.Parent == g.turn && err != nil && err != ErrUnseen {
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

// quiet reports whether a call is not worth an event.
func (c *calls) quiet(r *reading.Record, at *planned) bool {
	if at.step.quiet == nil {
		return false
	}
	values := map[string]any{}
	for _, s := range at.side.quiet {
		if s.form.Kind == memory.Interface {
			if method, ok := r.NumberIn(s.slot + 1); ok {
				values[s.name] = c.errors.name(method)
			}
			continue
		}
		values[s.name] = valueIn(r, s)
	}
	return holds(at.step.quiet, values)
}

// podsOf returns the call's pods that a record has, in the agent's form.
func podsOf(r *reading.Record, at *planned, lists *[maxLists][]probes.PodRef) (out []any) {
	for i := range at.side.lists {
		if lists == nil {
			out = append(out, nil)
			continue
		}
		out = append(out, lists[i])
	}
	if len(at.side.pods) > 0 {
		out = append(out, podIn(r, at.side.pods))
	}
	return out
}

func fieldsOf(r *reading.Record, at *planned) (out []any) {
	for _, s := range at.side.fields {
		out = append(out, valueIn(r, s))
	}
	return out
}
