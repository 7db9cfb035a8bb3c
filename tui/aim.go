package tui

import (
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
)

// aim is a step that is to be selected. The agent may say that a pod is held
// before the events come that lead there; so it is tried for a moment, unless
// the person goes elsewhere.
type aim struct {
	// namespace and name are empty for the node itself.
	namespace, name string
	step            string
	// span is the call that is meant; zero means the latest of the step.
	span  uint64
	until time.Time
}

// aimTime is how long events may be behind.
const aimTime = time.Second

// aimAtHold selects the call that a pod is held at, now and when its events have
// come.
func (m *Model) aimAtHold(h *agentpb.HoldInfo) {
	m.take(aim{namespace: h.GetPod().GetNamespace(), name: h.GetPod().GetName(), step: h.GetStep()})
}

// aimAtEvent selects the call that an event is about.
func (m *Model) aimAtEvent(e *probes.Event) {
	a := aim{step: e.Step, span: e.Span}
	if e.Pod != nil {
		a.namespace, a.name = e.Pod.Namespace, e.Pod.Name
	}
	m.take(a)
}

func (m *Model) take(a aim) {
	a.until = m.clock.now().Add(aimTime)
	m.aim = &a
	m.takeAim()
}

func (m *Model) takeAim() {
	a := m.aim
	if a == nil {
		return
	}
	if a.name == "" {
		m.state.SelectPod(0)
	} else {
		m.state.SelectPodNamed(a.namespace, a.name)
	}
	if !m.state.SelectCall(a.span) {
		m.state.SelectStep(a.step)
	}
	if m.clock.now().After(a.until) {
		m.aim = nil
	}
}
