package history

import (
	"sort"
	"strconv"
	"time"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// Call is a call of a step with the values of its events.
type Call struct {
	*Span
	At   int // the position as of which it is looked at
	Step *Step
	// Args and Results are the values at entry and exit.
	Args, Results map[string]any
	Err           string
	Known         bool // its beginning is kept
	Ended         bool
	holds         []holdTime
}

// Call reads a call as of a position. Its Span is nil if it is not kept.
func (h *History) Call(ref, at int) (c Call) {
	c.Span, c.At, c.holds = h.spans.at(ref), at, h.holds[ref]
	if c.Span == nil {
		return c
	}
	c.Step = h.steps.at(c.Span.Step)
	if c.Shape != NoEnter {
		var e probes.Event
		e, c.Known = h.Event(c.Enter)
		c.Args = e.Fields
	}
	if c.Over(at) && c.Shape == NoExit {
		c.Ended = true
	} else if c.Over(at) {
		e, _ := h.Event(c.Exit)
		c.Results, c.Err, c.Ended = e.Fields, e.Error, true
	}
	return c
}

// Took is how long a call took, or has taken by now, without the time for which a person
// had it held.
func (c *Call) Took(now int64) time.Duration {
	end := now
	if c.Ended {
		end = c.End
	}
	return max(0, Since(c.Start, end)-held(c.holds, c.At, c.Start, end))
}

// Since is the time between two session times, never negative: clocks of foreign
// events may go back.
func Since(from, to int64) time.Duration { return time.Duration(max(0, to-from)) }

// Text is an argument or result as a short text, empty if there is none.
func (c *Call) Text(name string) string {
	if v, ok := c.Results[name]; ok {
		return words.Short(v)
	}
	if v, ok := c.Args[name]; ok {
		return words.Short(v)
	}
	return ""
}

// Flag reports whether a flag is set.
func (c *Call) Flag(name string) bool {
	if b, ok := c.Results[name].(bool); ok {
		return b
	}
	b, _ := c.Args[name].(bool)
	return b
}

// Number is an argument or result that is a number.
func (c *Call) Number(name string) (int64, bool) {
	for _, m := range []map[string]any{c.Results, c.Args} {
		switch v := m[name].(type) {
		case int64:
			return v, true
		case string:
			if n, err := strconv.ParseInt(v, 10, 64); err == nil {
				return n, true
			}
		}
	}
	return 0, false
}

// LookBack bounds how many calls are looked through for one of a step.
const LookBack = 2000

// Back finds the latest call of a pod that had begun at a position and that is as
// wanted, or None. It looks through the last LookBack calls only.
func (h *History) Back(pod, at int, wanted func(ref int, sp *Span) bool) int {
	spans := &h.pods[pod].Spans
	for i, n := spans.End()-1, 0; i >= spans.First && n < LookBack; i, n = i-1, n+1 {
		ref := *spans.At(i)
		if sp := h.spans.at(ref); sp != nil && sp.Enter < at && wanted(ref, sp) {
			return ref
		}
	}
	return None
}

// LastCall is a pod's last call of a step that had ended at a position.
func (h *History) LastCall(pod int, step StepID, at int) (Call, bool) {
	ref := h.Back(pod, at, func(_ int, sp *Span) bool { return sp.Step == step && sp.Over(at) && sp.Shape != NoExit })
	if ref == None {
		return Call{}, false
	}
	return h.Call(ref, at), true
}

// LastEnter is the position of the event that began the latest call of one of some
// roles, the first of them that there is one of; None if there is none, or it is
// not kept.
func (h *History) LastEnter(pod, at int, roles ...probes.Role) int {
	for _, role := range roles {
		ref := h.Back(pod, at, func(_ int, sp *Span) bool { return h.Role(sp.Step) == role && sp.Shape != NoEnter })
		if sp := h.spans.at(ref); sp != nil && h.Raw(sp.Enter) != nil {
			return sp.Enter
		}
	}
	return None
}

// GoesOn reports whether a pod is in a call of a role that began at a time or later,
// on whatever goroutine.
func (h *History) GoesOn(pod int, role probes.Role, from int64, at int) bool {
	return h.Back(pod, at, func(_ int, sp *Span) bool { return sp.Start >= from && h.Role(sp.Step) == role && !sp.Over(at) }) != None
}

// OpenCall is the newest call of a step of a pod that goes on, or None.
func (h *History) OpenCall(pod int, step string) int {
	id := h.StepNamed(step)
	return h.Back(pod, h.End(), func(_ int, sp *Span) bool { return sp.Step == id && sp.Exit == None })
}

// PositionAt is the position before which all events had happened at a session
// time. Events are nearly in the order of time: a call that is reported late has
// the time that it had. That is near enough to find a place.
func (h *History) PositionAt(t int64) int {
	first := h.First()
	return first + sort.Search(h.End()-first, func(i int) bool { return h.TimeAt(first+i) > t })
}
