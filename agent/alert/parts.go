package alert

import (
	"maps"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/filter"
)

// matchEvent finds out whether an event matches a part. A call matches once: if its beginning does, its end does not
// count again.
func (m *Matcher) matchEvent(p *pod, part int, r *history.Record, e *probes.Event) {
	f := m.alert.parts[part].filter
	key := callPart{part, r.Span}
	if e.Kind == probes.Exit && r.Span != history.None && p.begun[key] {
		return
	}
	switch f.MatchOutline(e) {
	case filter.No:
		return
	case filter.Maybe:
		whole := m.withArguments(r, e)
		if !f.Match(whole) {
			return
		}
		e = whole
	}
	if e.Kind == probes.Enter && r.Span != history.None {
		if len(p.begun) >= mostOfPod {
			// Those whose end nobody has seen are over, too.
			maps.DeleteFunc(p.begun, func(k callPart, _ bool) bool {
				sp := m.h.Span(k.span)
				return sp == nil || sp.Exit != history.None
			})
		}
		if len(p.begun) < mostOfPod {
			p.begun[key] = true
		}
	}
	m.hit(p, part, r.Time, m.ofEvent(part, m.withArguments(r, e)))
}

// withArguments returns the event of a call's end with the call's arguments; any other event as it is.
func (m *Matcher) withArguments(r *history.Record, e *probes.Event) *probes.Event {
	sp := m.h.Span(r.Span)
	if e.Kind != probes.Exit || sp == nil || sp.Enter == history.None {
		return e
	}
	enter, ok := m.h.Event(sp.Enter)
	if !ok || len(enter.Fields) == 0 {
		return e
	}
	whole := *e
	whole.Fields = enter.Fields
	maps.Copy(whole.Fields, e.Fields)
	return &whole
}

func (m *Matcher) ofEvent(part int, e *probes.Event) Part {
	return Part{Part: m.alert.parts[part].text, Time: e.Time, Event: e}
}

// matchBeginning begins to follow a call that matches a part if it goes on for long.
func (m *Matcher) matchBeginning(p *pod, part int, r *history.Record, e *probes.Event) {
	if e.Kind != probes.Enter || r.Span == history.None || m.lasts(r.Step) || !m.alert.parts[part].filter.Match(e) {
		return
	}
	key := callPart{part, r.Span}
	if p.calls[key] != nil || !m.room(p) {
		return
	}
	seen := m.ofEvent(part, e)
	seen.RunningNs = int64(m.alert.parts[part].longer)
	d := &due{at: r.Time + seen.RunningNs, part: part, place: p.place, span: r.Span, seen: seen}
	d.seen.Time = m.wall(d.at)
	p.calls[key] = &call{due: d}
	m.addDue(p, d)
}

// lasts reports whether calls of a step go on for as long as their goroutine.
func (m *Matcher) lasts(step history.StepID) bool {
	role := m.h.Role(step)
	return role == probes.RoleLife || role == probes.RoleWorker
}

// ended notes that a call is over.
func (m *Matcher) ended(p *pod, r *history.Record) {
	if r.Header.Kind != agentpb.Kind_EXIT || r.Span == history.None {
		return
	}
	for i := range m.alert.parts {
		key := callPart{i, r.Span}
		if c := p.calls[key]; c != nil {
			delete(p.calls, key)
			m.drop(p, c.due)
		}
	}
}

// forgetEnded forgets what is known of the beginning of a call that is over.
func (m *Matcher) forgetEnded(p *pod, r *history.Record) {
	if r.Header.Kind == agentpb.Kind_EXIT && r.Span != history.None {
		for i := range m.alert.parts {
			delete(p.begun, callPart{i, r.Span})
		}
	}
}

// lookAtStates looks at the states of all pods.
func (m *Matcher) lookAtStates(at int64) {
	if !m.ticks {
		return
	}
	for _, p := range m.order {
		if !m.selects(p.place) {
			continue
		}
		for i := len(m.alert.parts) - 1; i >= 0; i-- {
			if m.alert.parts[i].kind == ofState {
				m.matchState(p, i, at)
			}
		}
	}
}

// matchState finds out whether a pod is in the state of a part. It counts once until the pod leaves the state.
func (m *Matcher) matchState(p *pod, part int, at int64) {
	seen, is, matches := m.inState(p, part, at)
	switch {
	case !is:
		p.inState[part] = false
	case matches && !p.inState[part]:
		p.inState[part] = true
		m.hit(p, part, at, seen)
	}
}

// inState reports whether a pod is in the state of a part, and whether it also matches the part's filter and has been in
// the state for long enough.
func (m *Matcher) inState(p *pod, part int, at int64) (seen Part, is, matches bool) {
	want := &m.alert.parts[part]
	about := m.lives.Now().Pod(p.place)
	if p.place == 0 || !about.Known() {
		return seen, false, false
	}
	state, since := m.lives.State(about, at)
	if state != want.state {
		return seen, false, false
	}
	lasted := max(0, at-since)
	step := m.h.Step(m.lives.StepOf(about))
	e := probes.Event{Pod: &m.h.Pod(p.place).Entity, Stage: step.Stage, Step: step.Name, Error: m.lives.ErrorOf(about), Sync: about.Sync}
	if lasted < int64(want.longer) || !want.filter.Match(&e) {
		return seen, true, false
	}
	return Part{Part: want.text, Time: m.wall(at), State: state.String(), StateNs: lasted, Step: e.Step, Error: e.Error}, true, true
}
