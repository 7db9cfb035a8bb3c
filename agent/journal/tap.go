package journal

import (
	"encoding/binary"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/pods"
	"github.com/podstep/podstep/agent/wire"
)

// Bounds of one of the stories that a tap begins with, in bytes.
const (
	mostCarried  = 32 << 10
	leastCarried = 2 << 10
)

// Tap adds a watcher that is no client's: it gives all events to the agent's own process. Like a client it loses events if
// it does not keep up, and its batches then have DROP events.
//
// It begins with what is needed to understand the events that follow: of the pods that are there, the beginning and the
// end of each story, and every call that goes on. These are at most about carried bytes in all.
func (j *Journal) Tap(carried int) *Watcher {
	w := newWatcher(Wanted{Pods: &pods.Selector{}, Node: true, History: true, Live: true})
	w.own = true
	j.out.Lock()
	defer j.out.Unlock()
	j.add(w)
	w.history.shorten(carried)
	return w
}

// shorten leaves out the stories of pods that are gone, and the middles of the others. The caller holds Journal.out.
func (h *history) shorten(carried int) {
	there := h.readers[:0]
	for _, r := range h.readers {
		if r.pod == nil || !r.pod.Gone() {
			there = append(there, r)
		}
	}
	clear(h.readers[len(there):])
	h.readers = there
	bound := min(mostCarried, max(leastCarried, carried/max(1, len(there))))
	for _, r := range there {
		r.carry = bound
	}
}

// carried returns all that a shortened story has, as one piece: its first events, its last events, and those of the
// others that are needed to understand them.
func (r *storyReader) carried(h *history) (out []byte) {
	var all [][]byte
	for r.openNext(h) {
		for len(r.data) > 0 {
			n, k := binary.Uvarint(r.data)
			all = append(all, r.data[:k+int(n)])
			r.data = r.data[k+int(n):]
		}
	}
	first, last := ends(all, r.carry/2)
	middle := needed(all[:first], all[first:last], all[last:])
	if len(middle) > maxNeeded {
		middle = middle[len(middle)-maxNeeded:]
	}
	h.left -= int64(last - first - len(middle))
	for _, events := range [][][]byte{all[:first], middle, all[last:]} {
		for _, e := range events {
			out = append(out, e...)
		}
	}
	return out
}

// maxNeeded bounds the events of a story's middle that are kept. More come of an agent that misses the ends of calls.
const maxNeeded = 256

// ends returns how many events at the beginning, and from which on at the end, have at most so many bytes.
func ends(all [][]byte, bound int) (first, last int) {
	for size := 0; first < len(all); first++ {
		if size += len(all[first]); size > bound {
			break
		}
	}
	last = len(all)
	for size := 0; last > first; last-- {
		if size += len(all[last-1]); size > bound {
			break
		}
	}
	return first, last
}

// needed returns the events of the middle without which those around it would be misunderstood: those that begin a call
// which goes on, and the ends of calls that began before.
func needed(before, middle, later [][]byte) (out [][]byte) {
	if len(middle) == 0 {
		return nil
	}
	began, ended := spansOf(agentpb.Kind_ENTER, before), spansOf(agentpb.Kind_EXIT, middle, later)
	for _, e := range middle {
		switch head := headOf(e); {
		case head.Span == 0:
		case head.Kind == agentpb.Kind_ENTER && !ended[head.Span], head.Kind == agentpb.Kind_EXIT && began[head.Span]:
			out = append(out, e)
		}
	}
	return out
}

// spansOf returns the calls that begin or end in some events.
func spansOf(kind agentpb.Kind, parts ...[][]byte) map[uint64]bool {
	out := map[uint64]bool{}
	for _, events := range parts {
		for _, e := range events {
			if head := headOf(e); head.Kind == kind && head.Span != 0 {
				out[head.Span] = true
			}
		}
	}
	return out
}

// headOf returns the header of an event with its length in front.
func headOf(e []byte) wire.Header {
	_, k := binary.Uvarint(e)
	head, _ := wire.ReadHeader(e[k:]) // the agent's own
	return head
}
