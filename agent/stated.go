package agent

import (
	"errors"
	"slices"
	"time"

	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/hook"
)

// Stated is a call of a step as the kubelet or its runtime has written it down: about one pod, with values by their
// names.
type Stated struct {
	Step string
	At   time.Time
	Pod  probes.PodRef
	// Parent is the call in which this one happens, as the same probe knows it. nil: in none, or it is not known.
	Parent *Call
	// Fields are values of the step's fields. They are shown as they are.
	Fields []wire.Field
	// BeginUnseen: nothing shows when the call began. At is when it ended.
	BeginUnseen bool
}

// BeginStated notes that a call has begun, as Begin does.
func (p *Probe) BeginStated(seen Stated) *Call {
	a := p.agent
	step := a.stepNamed(seen.Step)
	if step == nil || !step.reach(p.index).sees() || seen.Pod.UID == "" {
		return nil
	}
	s := newSpan(step)
	s.probe, s.late = p.index, false
	s.wall, s.start = seen.At.UnixNano(), int64(seen.At.Sub(a.started))
	a.outsideGoroutine(s, &Seen{Parent: seen.Parent})
	s.kept = &keptFields{enter: encoded(seen.Fields)}
	s.one.pod, s.one.id = a.pods.Ref(seen.Pod), a.spanIDs.Add(1)
	s.one.updates = s.one.pod.State.updates.Load()
	if s.role == a.worker {
		s.worker = s.only()
	}
	switch {
	case seen.BeginUnseen:
		s.one.emitted.Store(true)
		s.one.parent = a.parentID(s, s.one.pod)
	case step.seers.shared.Load() && a.sights.match(s):
		a.putSight(s, enter, &ending{wall: s.wall, mono: s.start}, s.fields())
	default:
		a.beginCall(s)
	}
	return &Call{agent: a, span: s}
}

// EndStated notes that a call has ended, with values of the step's results.
func (c *Call) EndStated(at time.Time, err string, results []wire.Field) {
	if c == nil {
		return
	}
	a, s := c.agent, c.span
	s.ended.Store(true)
	end := ending{how: hook.Returned, wall: at.UnixNano(), mono: max(s.start, int64(at.Sub(a.started)))}
	if end.wall == s.wall { // the two clocks were read at different times for the two ends
		end.mono = s.start
	}
	if err != "" {
		end.err = outcome(hook.Returned, errors.New(err))
	}
	var t taker
	t.atExit(a, s, end.how)
	t.wire = encoded(results)
	end.unseen = slices.ContainsFunc(results, func(f wire.Field) bool { return f.Name == probes.FieldEndUnseen })
	if s.same != nil {
		if !end.unseen {
			a.putSight(s, exit, &end, t.wire)
		}
		return
	}
	a.sights.ended(s, end.mono)
	a.endTimers(s)
	if len(results) > 0 && s.step.makes && results[0].Kind == wire.TextValue {
		t.made = results[0].Text
	}
	a.putExit(s, end, &t)
}

// EndUnseen notes that the call has ended, and that nobody knows when and how.
func (c *Call) EndUnseen(at time.Time) {
	if c == nil || c.span.same == nil && c.span.endQuietly(hook.Returned) {
		return
	}
	c.EndStated(at, "", []wire.Field{wire.Flag(probes.FieldEndUnseen, true)})
}

// encoded returns fields in wire form.
func encoded(fields []wire.Field) (out fieldBytes) {
	for i := range fields {
		out = fields[i].AppendTo(out)
	}
	return out
}
