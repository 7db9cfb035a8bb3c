package dap

import (
	"fmt"
	"slices"

	"github.com/google/go-dap"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// move moves one pod of a recording, forwards or back. All others stay where they are.
func (p *replay) move(place int, m moving) (after func(), err error) {
	c := p.pods[place]
	how := m.how
	switch {
	case c == nil:
		return nil, fmt.Errorf("%s has no events in the recording", p.st.name(place))
	case m.byLine:
		return nil, fmt.Errorf("a recording has steps and no lines; leave the granularity out")
	}
	to, reason, hit := p.next(place, c, m)
	return func() {
		p.s.refs.drop(place)
		p.printLogs(place, c.pos, to)
		p.pods[place] = p.cursorAt(to)
		body := dap.StoppedEventBody{Reason: reason, ThreadId: place, Text: p.pods[place].stop.err}
		if reason == "end" {
			body.Reason, body.Description = "pause", "the recording of this pod ends here"
			if how == moveBack || how == moveBackOn {
				body.Description = "the recording of this pod begins here"
			}
			p.s.output(console, "%s: %s", p.st.name(place), body.Description)
		}
		if hit != nil {
			body.Reason, body.HitBreakpointIds = hit.reason, []int{hit.id}
		}
		p.s.stopped(body)
	}, nil
}

// next returns the event to which a move leads, and why it ends there: a step, a breakpoint, or the end of the recording.
func (p *replay) next(place int, c *cursor, m moving) (to int, reason string, hit *point) {
	how := m.how
	all := p.events(place)
	at, _ := slices.BinarySearch(all, c.pos)
	by := 1
	if how == moveBack || how == moveBackOn {
		by = -1
	}
	counts := map[*point]uint32{}
	if by < 0 {
		p.count(all[:at], counts)
	} else {
		p.count(all[:min(at+1, len(all))], counts)
	}
	for i := at + by; i >= 0 && i < len(all); i += by {
		head, ok := p.st.h.Header(all[i])
		if !ok {
			continue
		}
		if how != moveBack {
			if hit = p.hitAt(all[i], &head, counts, by < 0); hit != nil {
				return all[i], hit.reason, hit
			}
			if hit = p.changedAt(place, all[i]); hit != nil {
				return all[i], hit.reason, hit
			}
		}
		if how != moveOn && how != moveBackOn && p.isPlace(all[i], &head, c, m) {
			return all[i], "step", nil
		}
	}
	if by < 0 {
		return all[0], "end", nil
	}
	return all[len(all)-1], "end", nil
}

// isPlace reports whether a step ends at an event.
func (p *replay) isPlace(pos int, head *wire.Header, c *cursor, m moving) bool {
	ref := p.st.h.SpanOf(pos, head)
	sp := p.st.h.Span(ref)
	if sp == nil || head.Kind != agentpb.Kind_ENTER && head.Kind != agentpb.Kind_EXIT {
		return false
	}
	failed := head.Kind == agentpb.Kind_EXIT && head.HasError
	switch m.how {
	case moveOut:
		// The end of the call around this one; of a call around none, its own end.
		own := p.st.h.Span(c.stop.span)
		return head.Kind == agentpb.Kind_EXIT && own != nil && (ref == own.Parent || own.Parent == history.None && ref == c.stop.span)
	case moveOver:
		return (head.Kind == agentpb.Kind_ENTER || failed) && !p.inside(sp, c.stop.span)
	}
	if m.to != nil && !p.over(c.stop.span, pos) {
		return head.Kind == agentpb.Kind_ENTER && p.inside(sp, c.stop.span) && p.st.h.Step(sp.Step).Name == m.to.step
	}
	return head.Kind == agentpb.Kind_ENTER || failed
}

// over reports whether a call has ended before an event.
func (p *replay) over(ref, pos int) bool {
	sp := p.st.h.Span(ref)
	return sp == nil || sp.Exit != history.None && sp.Exit < pos
}

// inside reports whether a call happens in another.
func (p *replay) inside(sp *history.Span, outer int) bool {
	for sp != nil && outer != history.None {
		if sp.Parent == outer {
			return true
		}
		sp = p.st.h.Span(sp.Parent)
	}
	return false
}

// hitAt returns the breakpoint that stops the pod at an event; nil: none does. counts are the hits before the event or,
// on the way back, with it.
func (p *replay) hitAt(pos int, head *wire.Header, counts map[*point]uint32, back bool) (hit *point) {
	for _, point := range p.matching(pos, head) {
		if !back {
			counts[point]++
		}
		always := point.rule.hits == hitRule{}
		if hit == nil && point.log == "" && (always || point.rule.hits.acts(counts[point])) {
			hit = point
		}
		if back && !always {
			counts[point]--
		}
	}
	return hit
}

// count counts the hits of the breakpoints at events, if any breakpoint counts.
func (p *replay) count(events []int, counts map[*point]uint32) {
	if !slices.ContainsFunc(p.ps.all(), func(o *point) bool { return o.rule.hits != hitRule{} }) {
		return
	}
	for _, pos := range events {
		if head, ok := p.st.h.Header(pos); ok {
			for _, point := range p.matching(pos, &head) {
				counts[point]++
			}
		}
	}
}

// matching returns the breakpoints whose condition an event meets.
func (p *replay) matching(pos int, head *wire.Header) (out []*point) {
	if head.Kind != agentpb.Kind_ENTER && head.Kind != agentpb.Kind_EXIT {
		return nil
	}
	var e *probes.Event
	for _, point := range p.ps.all() {
		if !point.verified {
			continue
		}
		if e == nil {
			full, ok := p.st.h.Event(pos)
			if !ok {
				return nil
			}
			e = &full
		}
		if step := probes.MustLoad().Step(e.Step); step != nil && point.comesTo(step) && point.rule.matches(e) {
			out = append(out, point)
		}
	}
	return out
}

// printLogs prints the lines of the logpoints that a pod passes.
func (p *replay) printLogs(place, from, to int) {
	if !slices.ContainsFunc(p.ps.all(), func(o *point) bool { return o.log != "" }) {
		return
	}
	lines := 0
	for _, pos := range p.events(place) {
		if pos <= from || pos > to {
			continue
		}
		head, ok := p.st.h.Header(pos)
		if !ok {
			continue
		}
		for _, point := range p.matching(pos, &head) {
			if e, ok := p.st.h.Event(pos); ok && point.log != "" {
				if lines++; lines > maxLogged {
					p.s.output(console, "more lines of logpoints are left out")
					return
				}
				p.s.output(console, "%s", fillLog(point.log, &e))
			}
		}
	}
}

// maxLogged bounds the lines that logpoints print in one move.
const maxLogged = 1000
