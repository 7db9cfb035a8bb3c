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
	At   int // the position as of which the call was read
	Step *Step
	// Args and Results are the values at entry and exit.
	Args, Results map[string]any
	Err           string
	Known         bool // the event of its beginning is kept
	Ended         bool
	holds         []holdTime
}

// Call reads a call as of a position. Its Span is nil if the call is not kept.
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
		if e, _ := h.Event(c.Exit); e.Fields[probes.FieldEndUnseen] == true {
			delete(e.Fields, probes.FieldEndUnseen)
			c.Results = e.Fields
		}
	} else if c.Over(at) {
		e, _ := h.Event(c.Exit)
		c.Results, c.Err, c.Ended = e.Fields, e.Error, true
	}
	return c
}

// Took returns how long a call took, or has taken by now, without the time for which people held it.
func (c *Call) Took(now int64) time.Duration {
	end := now
	if c.Ended {
		end = c.End
	}
	return max(0, Since(c.Start, end)-held(c.holds, c.At, c.Start, end))
}

// Took returns how long a call took, or has taken by now, as of a position, without the time for which people held it. It
// reads no event. It returns zero if the call is not kept.
func (h *History) Took(ref, at int, now int64) time.Duration {
	sp := h.spans.at(ref)
	if sp == nil {
		return 0
	}
	c := Call{Span: sp, At: at, Ended: sp.Over(at), holds: h.holds[ref]}
	return c.Took(now)
}

// Since returns the time between two session times. It is never negative, although the clock of foreign events may go
// back.
func Since(from, to int64) time.Duration { return time.Duration(max(0, to-from)) }

// Text returns an argument or result as a short text; empty: there is none.
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

// Number returns an argument or result that is a number; ok is false if there is none.
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

// LookBack bounds how many calls are searched.
const LookBack = 2000

// Back finds the latest call of a pod that had begun at a position and for which wanted returns true, or None. It
// searches only the last LookBack calls.
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

// GoesOn reports whether a pod is in a call of a role that began at a time or later, on any goroutine.
func (h *History) GoesOn(pod int, role probes.Role, from int64, at int) bool {
	return h.Back(pod, at, func(_ int, sp *Span) bool { return sp.Start >= from && h.Role(sp.Step) == role && !sp.Over(at) }) != None
}

// OpenCall returns a pod's newest call of a step that goes on, or None.
func (h *History) OpenCall(pod int, step string) int {
	id := h.StepNamed(step)
	return h.Back(pod, h.End(), func(_ int, sp *Span) bool { return sp.Step == id && sp.Exit == None })
}

// PositionAt returns the position before which all events had happened at a session time. Since a call may be
// reported late, with its own time, events are only nearly in the order of time. That is near enough to find a place.
func (h *History) PositionAt(t int64) int {
	first := h.First()
	return first + sort.Search(h.End()-first, func(i int) bool { return h.TimeAt(first+i) > t })
}
