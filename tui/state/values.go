package state

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/podstep/podstep/probes"
)

// event decodes the event at a position; ok is false if it is not kept.
func (s *State) event(pos int) (e probes.Event, ok bool) {
	raw := s.arena.at(pos)
	if raw == nil {
		return e, false
	}
	ep := s.epochAt(pos)
	e = ep.Event(raw)
	e.Mono += ep.shift
	return e, true
}

// call is a call of a step with what its events tell.
type call struct {
	*span
	at          int // the position as of which it is looked at
	step        *step
	args, gives map[string]any
	err         string
	known       bool // its beginning is kept
	ended       bool
}

// call reads a call as of a position.
func (s *State) call(i, at int) (c call) {
	c.span, c.at = s.spans.at(i), at
	if c.span == nil {
		return c
	}
	c.step = s.steps.at(c.span.step)
	if c.shape != noEnter {
		var e probes.Event
		e, c.known = s.event(c.enter)
		c.args = e.Fields
	}
	if c.over(at) && c.shape == noExit {
		c.ended = true
	} else if c.over(at) {
		e, _ := s.event(c.exit)
		c.gives, c.err, c.ended = e.Fields, e.Error, true
	}
	return c
}

// took is how long a call took, or has taken by now.
func (c *call) took(now int64) time.Duration {
	if c.ended {
		return since(c.start, c.end)
	}
	return since(c.start, now)
}

// text is an argument or result as a short text, empty if there is none.
func (c *call) text(name string) string {
	if v, ok := c.gives[name]; ok {
		return short(v)
	}
	if v, ok := c.args[name]; ok {
		return short(v)
	}
	return ""
}

// is tells whether a flag is set.
func (c *call) is(name string) bool {
	if b, ok := c.gives[name].(bool); ok {
		return b
	}
	b, _ := c.args[name].(bool)
	return b
}

func (c *call) number(name string) (int64, bool) {
	for _, m := range []map[string]any{c.gives, c.args} {
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

// short is a value for a line: documents that are short lists become words.
func short(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return oneLine(v)
	case probes.RawJSON:
		var list []any
		if json.Unmarshal(v, &list) == nil {
			words := make([]string, 0, len(list))
			for _, x := range list {
				words = append(words, short(x))
			}
			return strings.Join(words, ", ")
		}
		return oneLine(string(v))
	case bool:
		return strconv.FormatBool(v)
	}
	return oneLine(fmt.Sprint(v))
}

// shortID is the beginning of an id of the runtime, as its tools print it.
func shortID(id string) string {
	if i := strings.LastIndexByte(id, ':'); i >= 0 && i+13 <= len(id) {
		return id[i+1 : i+13]
	}
	if len(id) > 20 && !strings.ContainsAny(id, "/. ") {
		return id[:12]
	}
	return id
}
