//go:build linux

package uprobe

import (
	"runtime"
	"slices"
	"time"
)

// goroutine is one on which calls are open, or that one with open calls has started.
type goroutine struct {
	address uint64  // of the runtime's g
	open    []*Call // the innermost last
	parent  *Call   // in which the goroutine was started
	worker  bool
	turn    *Call   // of a worker
	failed  error   // the last error in the turn
	past    []*Call // the last that have ended, the last one last
	seen    time.Time
}

// top is the innermost open call.
func (g *goroutine) top() *Call {
	if n := len(g.open); n > 0 {
		return g.open[n-1]
	}
	return g.parent
}

// endFrom ends the calls whose frames are no more where one at a depth is entered: the stack
// grows away from depth zero.
func (g *goroutine) endFrom(depth uint64, end func(*Call)) {
	for n := len(g.open); n > 0 && g.open[n-1].depth >= depth; n = len(g.open) {
		last := g.open[n-1]
		g.open = g.open[:n-1]
		end(last)
	}
}

// goroutine is the one of a record, which is made if it is not known.
func (c *calls) goroutine(r *record, now time.Time) *goroutine {
	g := c.goroutines[r.Goid]
	if g == nil {
		c.forget(now)
		g = &goroutine{}
		c.goroutines[r.Goid] = g
	}
	g.worker = g.worker || c.workers[r.Start]
	g.seen = now
	g.address = r.G
	return g
}

// started notes in which call a goroutine was started.
func (c *calls) started(r *record) {
	parent := c.goroutines[r.Parent]
	if parent == nil || c.goroutines[r.Goid] != nil {
		return
	}
	top := parent.top()
	if top == nil {
		return
	}
	now := c.clock.time(r.Time)
	c.forget(now)
	c.goroutines[r.Goid] = &goroutine{parent: top, seen: now}
}

// mostPast is how many calls of a goroutine are kept that have ended.
const mostPast = 8

// startedBefore notes in which call a goroutine was started whose first record this is. By then
// the call may have ended.
func (c *calls) startedBefore(r *record) {
	parent := c.goroutines[r.Parent]
	if parent == nil || c.goroutines[r.Goid] != nil || r.Goid <= c.old {
		return
	}
	if call := c.starter(parent, r); call != nil {
		now := c.clock.time(r.Time)
		c.forget(now)
		c.goroutines[r.Goid] = &goroutine{parent: call, seen: now}
	}
}

// numbersApart is how far the numbers of goroutines are apart at most that are started one after
// the other.
var numbersApart = numbersTaken * uint64(runtime.NumCPU())

// starter is the call on a goroutine in which that of a record was started: one that began before,
// with the go statement in its function, about the same pod. Where the statement is in the function
// of no step, it is a call about this pod, or the one that is open and about none.
func (c *calls) starter(parent *goroutine, r *record) *Call {
	made, uid := r.Made-c.bias, r.UID()
	all := slices.Clone(parent.open)
	slices.Reverse(all)
	for _, call := range slices.Backward(parent.past) {
		all = append(all, call)
	}
	if parent.parent != nil {
		all = append(all, parent.parent)
	}
	known := c.plan.callers.Has(made)
	all = slices.DeleteFunc(all, func(call *Call) bool {
		return r.Goid+numbersApart < call.high || known && c.plan.callers.Line([]uint64{made}, call.Step.Symbol) == 0
	})
	for _, call := range all {
		if uid != "" && call.uid() == uid {
			return call
		}
	}
	for _, call := range all {
		if (uid == "" || call.uid() == "") && (known || !call.ended) {
			return call
		}
	}
	return nil
}

// idle reports whether nothing is known of a goroutine that matters to its next call.
func (g *goroutine) idle() bool { return len(g.open) == 0 && (g.parent == nil || g.parent.ended) }

const (
	// fewGoroutines are remembered whatever they do.
	fewGoroutines = 1 << 12
	// maxGoroutines bounds those that are remembered.
	maxGoroutines = 1 << 16
	// forgetAfter is how long one is remembered that calls nothing.
	forgetAfter = time.Minute
)

// forget makes room for one more goroutine. When one ends is not seen.
func (c *calls) forget(now time.Time) {
	if len(c.goroutines) < c.room {
		return
	}
	for id, g := range c.goroutines {
		if g.idle() || len(g.open) == 0 && now.Sub(g.seen) > forgetAfter {
			delete(c.goroutines, id)
		}
	}
	if len(c.goroutines) >= maxGoroutines {
		clear(c.goroutines) // their calls stay open in the story
	}
	c.room = min(max(fewGoroutines, 2*len(c.goroutines)), maxGoroutines)
}
