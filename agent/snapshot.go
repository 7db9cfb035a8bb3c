package agent

import (
	"sync/atomic"

	"golang.org/x/time/rate"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/callsite"
	"github.com/podstep/podstep/agent/journal"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// snapshotRate and snapshotBurst bound the stacks that an agent keeps in a second, whoever asks for them.
const snapshotRate, snapshotBurst = 5, 20

// snapshots is what the table of the breakpoints knows of those that keep a stack.
type snapshots struct {
	armedSnapshots atomic.Int32
	rate           *rate.Limiter
}

// wanted reports whether a breakpoint wants stacks.
func (t *snapshots) wanted() bool { return t.armedSnapshots.Load() > 0 }

func (b *breakpoint) snaps() bool {
	_, snaps := b.spec.GetAction().(*agentpb.AddBreakpointRequest_Snapshot)
	return snaps
}

// passes reports whether the breakpoint acts on calls that go on. The probes, which prepare for stops, do not hear of it.
func (b *breakpoint) passes() bool { return b.snaps() || b.log != nil && b.spec.GetAt() == "" }

// note returns the fields of a note of the breakpoint: which kind of note it is, the breakpoint's number, and more.
func (b *breakpoint) note(kind string, more ...field) []field {
	return append([]field{text("note", kind), number("breakpoint", int64(b.id))}, more...)
}

// arm adds n to the number of breakpoints of the same kind. The caller holds mu.
func (t *breakpoints) arm(b *breakpoint, n int32) {
	switch {
	case b.snaps():
		t.armedSnapshots.Add(n)
	case b.passes():
		t.armedLogs.Add(n)
	default:
		t.armed(n)
	}
}

// snap keeps the stack of a call in its pod's story, if a breakpoint wants it here.
func (a *Agent) snap(at crossing) {
	t := &a.points
	if !t.wanted() {
		return
	}
	b := t.first(func(b *breakpoint) bool { return b.snaps() && b.steps[at.span.step.ID] && b.applies(a, at) })
	if b == nil {
		return
	}
	if !t.countWithin(t.rate, b) {
		return
	}
	a.putEnter(at.span, at.part)
	a.put(at.span, at.part, 0, journal.Event{Kind: agentpb.Kind_NOTE, Err: at.err, Fields: b.note(agentpb.NoteSnapshot, wire.EncodeStack(at.span.stack()))})
}

// countWithin counts a hit of a breakpoint that stops nobody, and reports whether it acts: not more often than the rate allows.
func (t *breakpoints) countWithin(most *rate.Limiter, b *breakpoint) bool {
	if !t.isWithin(most, b) {
		return false
	}
	acts, there := t.count(b)
	return acts && there
}

// isWithin reports whether a breakpoint may act now, by the rate. It counts the times that it may not.
func (t *breakpoints) isWithin(most *rate.Limiter, b *breakpoint) bool {
	if most.Allow() {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	b.missed++
	return false
}

// snapMany is snap for a call that is about several pods.
func (a *Agent) snapMany(s *span, parts []*podSpan, side int, errText string) {
	for _, ps := range parts {
		a.snap(crossing{s, ps, side, errText})
	}
}

// stack returns the functions under way, the innermost first. On the kubelet's own goroutine it has all of them. Seen from
// outside, and on other goroutines that led to the call, it has those that are steps.
func (s *span) stack() (out []wire.Frame) {
	up, line := s, uint32(0)
	for _, f := range callsite.Stack(s.step.Symbol) {
		frame := wire.Frame{Function: f.Function, File: moduleFile(f.File), Line: f.Line}
		if up != nil && probes.Outer(f.Function) == up.step.Symbol {
			up.describe(&frame, s)
			up, line = up.parent, up.line
		}
		out = append(out, frame)
	}
	for ; up != nil; up, line = up.parent, up.line {
		frame := wire.Frame{Function: up.step.Symbol, File: up.step.File, Line: int(line)}
		up.describe(&frame, s)
		out = append(out, frame)
	}
	return out
}

// describe adds to a frame which step it is, and the step's values, as far as they are kept. inner is the call that the
// stack is of. A call on another goroutine for which nobody waits may end meanwhile, so its values are not read.
func (s *span) describe(f *wire.Frame, inner *span) {
	f.Step = s.step.Name
	switch {
	case s == inner:
		f.Values = wire.Fields(append(s.shown(enter).Protos(), s.shown(exit).Protos()...))
	case s.encloses(inner):
		f.Values = wire.Fields(s.fields().Protos())
	}
}
