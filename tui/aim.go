package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// aim is a call that a key selects. The session delivers the call's events before.
type aim struct {
	// uid is empty for the node itself.
	uid  string
	step string
	// span is the number of the call; zero means the latest call of the step.
	span uint64
}

// goToHold selects the call that a pod is held at.
func (m *Model) goToHold(h *agentpb.HoldInfo) {
	m.selectAim(aim{uid: h.GetPod().GetUid(), step: h.GetStep()})
}

// aimAtHold selects, for a walk, the call that a pod is held at.
func (m *Model) aimAtHold(h *agentpb.HoldInfo) {
	m.showStop(aim{uid: h.GetPod().GetUid(), step: h.GetStep()}, podName(h.GetPod()))
}

// aimAtEvent selects, for a walk, the call that an event is about.
func (m *Model) aimAtEvent(e *probes.Event) {
	a, name := aim{step: e.Step, span: e.Span}, m.node()
	if e.Pod != nil {
		a.uid, name = e.Pod.UID, e.Pod.NamespacedName()
	}
	if m.showStop(a, name) {
		m.state.Stay() // the pod is not held, and goes on
	}
}

// showStop selects the place that a walk has come to. A person who has selected another pod since the walk's key is
// left there.
func (m *Model) showStop(a aim, name string) bool {
	if m.strayed && a.uid != m.selectedUID() {
		m.notice(m.textf(words.Text("the walk has come to %s, which is not selected", "导览已到达 %s，它未被选中"), name))
		return false
	}
	m.selectAim(a)
	return true
}

// byHand runs do, for a key or a click, and notes whether the person has gone to another pod by it.
func (m *Model) byHand(do func() tea.Cmd) tea.Cmd {
	before := m.selectedUID()
	cmd := do()
	if m.selectedUID() != before {
		m.strayed, m.opts.Pod = true, nil
	}
	return cmd
}

// selectAim selects the aim's pod, and in its story the aim's call, or if that call is not there the latest call of
// the aim's step. It selects nothing if the pod is not known.
func (m *Model) selectAim(a aim) {
	known := true
	if a.uid == "" {
		m.state.SelectPod(0)
	} else {
		known = m.state.SelectPodOf(a.uid)
	}
	if known && !m.state.SelectCall(a.span) {
		m.state.SelectStep(a.step)
	}
}

// selectedUID is the uid of the selected pod, empty for the node.
func (m *Model) selectedUID() string {
	if pod, ok := m.selected(); ok {
		return pod.UID
	}
	return ""
}
