package tui

import (
	"time"

	"github.com/podstep/podstep/agent/agentpb"
)

// aim is a step that is to be selected. The agent may say that a pod is held
// before the events come that lead there; so it is tried for a moment, unless
// the person goes elsewhere.
type aim struct {
	namespace, name string
	step            string
	until           time.Time
}

// aimTime is how long events may be behind.
const aimTime = time.Second

// aimAt selects a step of a pod, now and when its events have come.
func (m *Model) aimAt(namespace, name, step string) {
	m.aim = &aim{namespace, name, step, m.clock.now().Add(aimTime)}
	m.takeAim()
}

func (m *Model) aimAtHold(h *agentpb.HoldInfo) {
	m.aimAt(h.GetPod().GetNamespace(), h.GetPod().GetName(), h.GetStep())
}

func (m *Model) takeAim() {
	a := m.aim
	if a == nil {
		return
	}
	if a.name != "" {
		m.state.SelectPodNamed(a.namespace, a.name)
	}
	m.state.SelectStep(a.step)
	if m.clock.now().After(a.until) {
		m.aim = nil
	}
}
