package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// aim is a call that is to be selected because of a key. Its events have come: the
// session sees to that.
type aim struct {
	// uid is empty for the node itself.
	uid  string
	step string
	// span is the call that is meant; zero means the latest of the step.
	span uint64
}

// goToHold selects the call that a pod is held at.
func (m *Model) goToHold(h *agentpb.HoldInfo) {
	m.take(aim{uid: h.GetPod().GetUid(), step: h.GetStep()})
}

// aimAtHold is goToHold for a walk.
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

// showStop selects where a walk has come to, if the person follows it: who has
// selected another pod since the walk's key stays there.
func (m *Model) showStop(a aim, name string) bool {
	if m.strayed && a.uid != m.selectedUID() {
		m.notice(m.textf(words.Text("the walk has come to %s, which is not selected", "导览已到达 %s，它未被选中"), name))
		return false
	}
	m.take(a)
	return true
}

// byHand notes, around a key or a click, whether the person has gone to another
// pod on their own.
func (m *Model) byHand(do func() tea.Cmd) tea.Cmd {
	before := m.selectedUID()
	cmd := do()
	if m.selectedUID() != before {
		m.strayed = true
	}
	return cmd
}

// take selects the call. The pod's is selected as far as it is known.
func (m *Model) take(a aim) {
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
