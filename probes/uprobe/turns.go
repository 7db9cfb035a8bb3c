//go:build linux

package uprobe

import (
	"slices"
	"time"

	"github.com/podstep/podstep/probes"
)

// The compiler inlines the function of a turn of a pod's worker into the function of the worker's whole life. So
// there is no place to look at. A turn begins when the worker has read its mailbox and may start. It ends when the
// worker goes on to what comes after it.

// beginTurn begins a turn if a call that reads the worker's mailbox has ended with leave to start.
func (c *calls) beginTurn(g *goroutine, begin *Call, now time.Time, values []any) {
	if c.turn == nil || !g.worker || g.turn != nil || len(g.open) > 1 {
		return
	}
	results := map[string]any{}
	for i, f := range begin.Step.Results {
		if i+1 < len(values) {
			results[f.Name] = values[i+1]
		}
	}
	if results["ok"] == false || results["canStart"] == false || results["canEverStart"] == false {
		return
	}
	// The turn has no frame. Calls in it have frames that are deeper than the worker's own.
	turn := &Call{Step: c.turn, At: now, Goroutine: begin.Goroutine, Parent: g.top(), Worker: true, depth: 1, lost: begin.lost, high: begin.high}
	if len(g.open) > 0 { // the parent is on this goroutine
		turn.depth += turn.Parent.depth
	}
	turn.Values = slices.Clone(begin.Values[:1]) // the pod
	for _, f := range c.turn.Fields {
		turn.Values = append(turn.Values, results[f.Name])
	}
	g.turn, g.failed = turn, nil
	c.beginCall(g, turn)
}

// endTurn ends the turn of a worker before a call that comes after it.
func (c *calls) endTurn(g *goroutine, next *Call) {
	if g.turn == nil {
		return
	}
	switch next.Step.Story.Role {
	case probes.RoleBegin, probes.RoleTransition, probes.RoleComplete, probes.RoleEnd:
	default:
		return
	}
	turn := g.turn
	g.endFrom(turn.depth, func(open *Call) {
		if open == turn {
			c.endCall(g, turn, next.At, g.failed, []any{false})
			return
		}
		c.vanish(g, open, next.At)
	})
}
