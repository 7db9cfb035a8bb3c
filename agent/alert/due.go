package alert

import "container/heap"

// due is something that happens at a time unless an event comes before: a call has gone on for long, or a part has not
// matched.
type due struct {
	at    int64 // session time
	order int   // of those of one time, the first comes first
	over  bool  // it will not happen
	part  int
	place int // of the pod
	// span and pos are the call that goes on, and the position of its beginning. head are the parts that matched before
	// the one that is absent.
	span int
	seen Part
	head []Part
}

// dues are ordered by their times.
type dues struct {
	all   dueHeap
	order int
}

func (d *dues) add(one *due) {
	d.order++
	one.order = d.order
	heap.Push(&d.all, one)
}

// first returns the one that comes first, or nil.
func (d *dues) first() *due {
	for len(d.all) > 0 && d.all[0].over {
		heap.Pop(&d.all)
	}
	if len(d.all) == 0 {
		return nil
	}
	return d.all[0]
}

// dropFirst takes the first one out.
func (d *dues) dropFirst() { heap.Pop(&d.all) }

// sweep drops those that are over, if they are most of all.
func (d *dues) sweep(left int) {
	if len(d.all) < 2*left+1024 {
		return
	}
	kept := d.all[:0]
	for _, one := range d.all {
		if !one.over {
			kept = append(kept, one)
		}
	}
	clear(d.all[len(kept):])
	d.all = kept
	heap.Init(&d.all)
}

type dueHeap []*due

func (h dueHeap) Len() int { return len(h) }
func (h dueHeap) Less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].order < h[j].order
}
func (h dueHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *dueHeap) Push(x any)   { *h = append(*h, x.(*due)) }
func (h *dueHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return last
}
