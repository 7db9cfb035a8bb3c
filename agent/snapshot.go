package agent

import (
	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/breakpoints"
	"github.com/podstep/podstep/agent/callsite"
	"github.com/podstep/podstep/agent/journal"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// snapshotRate and snapshotBurst bound the stacks that an agent keeps in a second, whoever asks for them.
const snapshotRate, snapshotBurst = 5, 20

// snap keeps the stack of a call in its pod's story, if a breakpoint wants it here.
func (a *Agent) snap(at crossing) {
	if !a.points.Snaps() {
		return
	}
	b := a.points.First(func(b *breakpoints.Breakpoint) bool {
		return b.Snaps() && b.IsAtStep(at.span.step.ID) && a.applies(b, at)
	})
	if b == nil || !a.points.CountWithin(a.snapshotRate, b) {
		return
	}
	a.putEnter(at.span, at.part)
	a.put(at.span, at.part, 0, journal.Event{Kind: agentpb.Kind_NOTE, Err: at.err, Fields: b.Note(agentpb.NoteSnapshot, wire.EncodeStack(at.span.stack()))})
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
		frame := wire.Frame{Function: f.Function, File: callsite.ModuleFile(f.File), Line: f.Line}
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
