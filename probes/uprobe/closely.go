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
	if closely == (p.closer != nil) || p.plan.always == len(p.plan.places) {
		return nil
	}
	if closely {
		links, err := p.link(p.plan.places[p.plan.always:], uint64(p.plan.always))
		if err != nil {
			return errors.Join(here().explain(err), closeLinks(links))
		}
		p.closer = links
		return nil
	}
	err := closeLinks(p.closer)
	p.closer = nil
	p.away.Store(true)
	p.ReadNow(ctx)
	return err
}

// lookAlways makes the probe look at the steps at which it looks all the time, and at goroutines as they begin.
func (p *Probe) lookAlways() (err error) {
	p.kernel.links, err = p.link(p.plan.places[:p.plan.always], 0, p.plan.starts...)
	return err
}

// link makes the program run at places of steps, which are numbered from first on, and at places at which goroutines begin.
func (p *Probe) link(places []*planned, first uint64, starts ...place) ([]link.Link, error) {
	var offsets, numbers []uint64
	for i, at := range places {
		offsets, numbers = append(offsets, at.offset), append(numbers, first+uint64(i))
	}
	for i, at := range starts {
		offsets, numbers = append(offsets, at.offset), append(numbers, uint64(len(p.plan.places)+i))
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
