package history

import (
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// LastStack returns the last event before a position that has a stack snapshot of a pod, and its frames; nil: there is
// none. If an error passed through several calls, each with a stack, it returns that of the innermost call: the error
// began there.
func (h *History) LastStack(pod, at int) (e probes.Event, frames []wire.Frame) {
	all := h.Pod(pod).Stacks.All
	last := LowerBound(all, at) - 1
	if last < 0 {
		return e, nil
	}
	for last > 0 && h.failedWithin(all[last-1], all[last]) {
		last--
	}
	e, _ = h.Event(all[last])
	return e, wire.Stack(&e)
}

// failedWithin reports whether the events at two positions are about calls that failed, the first within the second.
func (h *History) failedWithin(inner, outer int) bool {
	in, out := h.spanAt(inner), h.spanAt(outer)
	if in == None || out == None || !h.Span(in).Failed || !h.Span(out).Failed {
		return false
	}
	for in != out && h.Span(in) != nil {
		in = h.Span(in).Parent
	}
	return in == out
}

// spanAt returns the reference of the call that the event at a position is about; None: it is not known, or forgotten.
func (h *History) spanAt(pos int) int {
	head, ok := h.Header(pos)
	if !ok {
		return None
	}
	if ref := h.SpanOf(pos, &head); h.Span(ref) != nil {
		return ref
	}
	return None
}
