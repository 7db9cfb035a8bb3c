//go:build linux

package uprobe

import (
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/inside/reading"
)

// pendingRecord is a record whose lists' elements are still to come.
type pendingRecord struct {
	record reading.Record
	lists  [maxLists][]probes.PodRef
	left   int
}

// expect returns a pending record with the number of elements that are to follow it.
func expect(r *reading.Record, at *planned) *pendingRecord {
	p := &pendingRecord{record: *r}
	for _, l := range at.side.lists {
		if n, ok := r.NumberIn(l.slot); ok && n != 0 && l.slot+1 < reading.MaxValues {
			p.left += int(min(r.Value[l.slot+1], reading.MaxElements))
		}
	}
	return p
}

// element adds a pod to a list of the pending record.
func (c *calls) element(r *reading.Record, at *planned) {
	p := c.pending[r.G]
	if p == nil || p.record.Time != r.Time || p.record.Place != r.Place || r.List >= maxLists {
		return
	}
	if ref, ok := podIn(r, at.side.element).(probes.PodRef); ok {
		p.lists[r.List] = append(p.lists[r.List], ref)
	}
	if p.left--; p.left <= 0 {
		c.finish(p)
	}
}

func (c *calls) finish(p *pendingRecord) {
	delete(c.pending, p.record.G)
	c.event(&p.record, c.plan.places[p.record.Place], &p.lists)
}
