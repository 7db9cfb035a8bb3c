//go:build linux

package uprobe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf/link"
)

// A kubelet comes to the steps of higher tiers much more often than to the others. So the probe looks at them only while
// somebody watches a pod closely.

// LookClosely makes the probe look at all steps from now on, or only at those at which it looks all the time. Of the calls
// that are under way then at the other steps, nobody sees the ends. One goroutine at a time calls it, between Start and Stop.
func (p *Probe) LookClosely(ctx context.Context, closely bool) error {
	if closely == (p.close != nil) || p.plan.always == len(p.plan.places) {
		return nil
	}
	if closely {
		links, err := p.link(p.plan.always, len(p.plan.places))
		if err != nil {
			return errors.Join(here().explain(err), closeLinks(links))
		}
		p.close = links
		return nil
	}
	err := closeLinks(p.close)
	p.close = nil
	p.away.Store(true)
	p.ReadNow(ctx)
	return err
}

// lookAlways makes the probe look at the steps at which it looks all the time, and at goroutines as they begin.
func (p *Probe) lookAlways() (err error) {
	if p.kernel.links, err = p.link(0, p.plan.always); err != nil {
		return err
	}
	starts, err := p.link(len(p.plan.places), len(p.plan.places)+len(p.plan.starts))
	p.kernel.links = append(p.kernel.links, starts...)
	return err
}

// link makes the program run at the places from the first number to before the last: those of steps, and then those at which
// goroutines begin.
func (p *Probe) link(first, last int) ([]link.Link, error) {
	var offsets, numbers []uint64
	for i := first; i < last; i++ {
		at := &place{}
		if i < len(p.plan.places) {
			at = &p.plan.places[i].place
		} else {
			at = &p.plan.starts[i-len(p.plan.places)]
		}
		offsets, numbers = append(offsets, at.offset), append(numbers, uint64(i))
	}
	return p.kernel.attach(p.pid, fmt.Sprintf("/proc/%d/exe", p.pid), offsets, numbers)
}

// lookAway ends the calls at whose ends nobody looks any more, as far as no call is under way in them that is seen: those end
// when that one has ended.
func (c *calls) lookAway(now time.Time) {
	for _, g := range c.goroutines {
		for _, call := range g.open {
			call.unwatched = call.unwatched || call.Closely
		}
		c.endUnwatched(g, now)
	}
}

// endUnwatched ends the innermost calls of a goroutine at whose ends nobody looks.
func (c *calls) endUnwatched(g *goroutine, now time.Time) {
	for n := len(g.open); n > 0 && g.open[n-1].unwatched; n = len(g.open) {
		call := g.open[n-1]
		g.open = g.open[:n-1]
		c.vanish(g, call, now)
	}
}
