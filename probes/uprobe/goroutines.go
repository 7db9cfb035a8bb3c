//go:build linux

package uprobe

import "time"

// goroutine is one on which calls are open, or that one with open calls has started.
type goroutine struct {
	address uint64  // of the runtime's g
	open    []*Call // the innermost last
	parent  *Call   // in which the goroutine was started
	worker  bool
	turn    *Call // of a worker
	failed  error // the last error in the turn
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
