package dap

import (
	"fmt"

	"github.com/google/go-dap"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes/source"
	"github.com/podstep/podstep/probes/words"
)

// call is a call of a step that a pod may come to.
type call struct {
	step string
	// line is the one in the function of the call around it, in the kubelet's source; 0: podstep does not know it.
	line int
}

// stepInTargets answers with the steps that a person may choose to step into, from the frame in which the pod is stopped. From
// any other frame there is nothing to choose: the pod first has to come back to it.
func (s *session) stepInTargets(r *dap.StepInTargetsRequest) error {
	f, err := s.refs.frame(r.Arguments.FrameId)
	if err != nil {
		return err
	}
	targets := []dap.StepInTarget{}
	if f.top && f.stop.on != "exit" {
		for _, c := range s.target.calls(f) {
			targets = append(targets, dap.StepInTarget{Id: s.refs.add(ref{place: f.place, call: &c}), Label: words.Clean(c.step), Line: c.line})
		}
	}
	s.out.put(&dap.StepInTargetsResponse{Response: done(r), Body: dap.StepInTargetsResponseBody{Targets: targets}})
	return nil
}

// stepIn moves a pod to the next step, or to the one that the editor has chosen from stepInTargets.
func (s *session) stepIn(r *dap.StepInRequest) error {
	answer := &dap.StepInResponse{Response: done(r)}
	if r.Arguments.TargetId == 0 {
		return s.move(r.Arguments.ThreadId, moveInto, r.Arguments.Granularity, answer)
	}
	chosen, ok := s.refs.all[r.Arguments.TargetId]
	if !ok || chosen.call == nil || chosen.place != r.Arguments.ThreadId {
		return fmt.Errorf("there is no step %d to go into any more: the pod has gone on", r.Arguments.TargetId)
	}
	return s.moveBy(chosen.place, moving{how: moveInto, to: chosen.call}, answer)
}

// calls returns the steps that the source leads to, and at which the agent can hold a pod.
func (l *live) calls(f *frame) (out []call) {
	sp := l.st.h.Span(f.span)
	if sp == nil {
		return nil
	}
	e, _ := source.Of(l.st.h.Step(sp.Step).Name)
	from := int(f.stop.held.GetPlace().GetLine()) // of a pod that is held at a line; 0: at the beginning
	for _, callee := range e.Callees() {
		lines := e.Calls(callee)
		if l.ps.holds(callee) && lines[len(lines)-1] >= from {
			out = append(out, call{callee, lines[0]})
		}
	}
	return out
}

// calls returns the steps that the pod comes to in the call, as recorded.
func (p *replay) calls(f *frame) (out []call) {
	around := p.st.h.Span(f.span)
	if around == nil {
		return nil
	}
	e, known := source.Of(p.st.h.Step(around.Step).Name)
	seen := map[string]bool{}
	for _, pos := range p.events(f.place) {
		head, ok := p.st.h.Header(pos)
		if !ok || pos < f.stop.at || head.Kind != agentpb.Kind_ENTER {
			continue
		}
		sp := p.st.h.Span(p.st.h.SpanOf(pos, &head))
		if sp == nil || !p.inside(sp, f.span) {
			continue
		}
		c := call{step: p.st.h.Step(sp.Step).Name}
		if seen[c.step] {
			continue
		}
		seen[c.step] = true
		if known && sp.Parent == f.span {
			c.line = p.st.callLine(&e, sp)
		}
		out = append(out, c)
	}
	return out
}
