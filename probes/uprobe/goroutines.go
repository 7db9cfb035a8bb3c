//go:build linux

package uprobe

import (
	"runtime"
	"slices"
	"time"

	"github.com/podstep/podstep/probes/clock"
	"github.com/podstep/podstep/probes/inside/reading"
)

// goroutine is a goroutine on which calls are open, or that a goroutine with open calls has started.
type goroutine struct {
	address uint64  // of the runtime's g
	open    []*Call // the innermost last
	parent  *Call   // in which the goroutine was started
	worker  bool
	turn    *Call   // of a worker
	pod     string  // of a worker, its uid; empty: it is not known, or the calls name it
	unnamed *Call   // the call of a worker's life, until its pod is known
	failed  error   // the last error in the turn
	past    []*Call // calls that have ended, the latest last
	seen    time.Time
}

// top returns the innermost open call. If none is open, it returns the call in which the goroutine was started.
func (g *goroutine) top() *Call {
	if n := len(g.open); n > 0 {
		return g.open[n-1]
	}
	return g.parent
}

// endFrom ends the calls at a depth and deeper: their frames have gone if a function at that depth is entered. The
// stack grows away from depth zero.
func (g *goroutine) endFrom(depth uint64, end func(*Call)) {
	for n := len(g.open); n > 0 && g.open[n-1].depth >= depth; n = len(g.open) {
		last := g.open[n-1]
		g.open = g.open[:n-1]
		end(last)
	}
}

// goroutine returns the goroutine of a record, and makes it if it is not known.
func (c *calls) goroutine(r *reading.Record, now time.Time) *goroutine {
	g := c.goroutines[r.Goid]
	if g == nil {
		c.forgetIdle(now)
		g = &goroutine{}
		c.goroutines[r.Goid] = g
	}
	g.worker = g.worker || c.workers[r.Start]
	g.seen = now
	g.address = r.G
	return g
}

// started notes in which call a goroutine was started, by the record of its start.
func (c *calls) started(r *reading.Record) {
	parent := c.goroutines[r.Parent]
	if parent == nil || c.goroutines[r.Goid] != nil {
		return
	}
	top := parent.top()
	if top == nil {
		return
	}
	now := clock.Time(r.Time).Time()
	c.forgetIdle(now)
	c.goroutines[r.Goid] = &goroutine{parent: top, seen: now}
}

// mostPast is how many ended calls of a goroutine are kept.
const mostPast = 8

// startedBefore notes in which call a goroutine was started, by the goroutine's first record. By then the call may
// have ended.
func (c *calls) startedBefore(r *reading.Record) {
	parent := c.goroutines[r.Parent]
	if parent == nil || c.goroutines[r.Goid] != nil || r.Goid <= c.old {
		return
	}
	if call := c.starter(parent, r); call != nil {
		now := clock.Time(r.Time).Time()
		c.forgetIdle(now)
		c.goroutines[r.Goid] = &goroutine{parent: call, seen: now}
	}
}

// numbersApart bounds how far apart the numbers are of goroutines that are started one after the other.
var numbersApart = numbersTaken * uint64(runtime.NumCPU())

// starter returns the call on parent in which the goroutine of a record was started. The call began before that, its
// function has the go statement, and it is about the same pod, or about none. If the go statement is in no step's
// function, starter returns a call about the same pod, or the open one about none.
func (c *calls) starter(parent *goroutine, r *reading.Record) *Call {
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

// idle reports whether the goroutine has no data that matters to its next call.
func (g *goroutine) idle() bool {
	return len(g.open) == 0 && (g.parent == nil || g.parent.ended) && g.pod == ""
}

const (
	// fewGoroutines are remembered whatever they do.
	fewGoroutines = 1 << 12
	// maxGoroutines bounds the goroutines that are remembered.
	maxGoroutines = 1 << 16
	// forgetAfter is how long a goroutine that calls nothing is remembered.
	forgetAfter = time.Minute
)

// forgetIdle makes room for one more goroutine. The probe does not see when a goroutine ends.
func (c *calls) forgetIdle(now time.Time) {
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
