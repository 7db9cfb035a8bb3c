package tui

import (
	"slices"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/view"
)

// selected returns the selected pod; false if no pod or the node itself is selected.
func (m *Model) selected() (*probes.Pod, bool) {
	_, pod, ok := m.state.Selected()
	return pod, ok && pod != nil && pod.Name != ""
}

// pods returns all pods, without the node itself and without second lines.
func (m *Model) pods() []screen.PodRow { return withoutNodeRow(m.state.PodsNamed()) }

// withoutNodeRow leaves out the row of the node itself.
func withoutNodeRow(rows []screen.PodRow) []screen.PodRow {
	return slices.DeleteFunc(rows, func(r screen.PodRow) bool { return r.Key == 0 })
}

// heldName names the selected pod if it is held: the pod that steps.
func (m *Model) heldName() string { return m.nameOf(m.heldHere()) }

// nextHeldName names the pod that J goes to.
func (m *Model) nextHeldName() string { return m.nameOf(m.nextHeld()) }

func (m *Model) nameOf(h *agentpb.HoldInfo) string {
	if h == nil {
		return ""
	}
	return podName(h.GetPod())
}

// selectedName names the selected pod.
func (m *Model) selectedName() string {
	if pod, ok := m.selected(); ok {
		return pod.NamespacedName()
	}
	return ""
}

// heldPods returns how many pods are held.
func (m *Model) heldPods() int {
	pods := map[string]bool{}
	for _, h := range m.holds {
		pods[h.GetPod().GetUid()] = true
	}
	return len(pods)
}

// allHeldNames says which pods are let go if all are.
func (m *Model) allHeldNames() string {
	switch n := m.heldPods(); n {
	case 0:
		return ""
	case 1:
		return m.nameOf(m.holds[0])
	default:
		return m.textf(words.Text("all %d held pods", "全部 %d 个被停住的 Pod"), n)
	}
}

// letAllGo returns the footer's hint for letting all pods go.
func (m *Model) letAllGo() string {
	if n := m.heldPods(); n > 1 {
		return m.textf(words.Text("let all %d go", "放行全部 %d 个"), n)
	}
	return m.textf(words.Text("let %s go", "放行 %s"), view.ShortName(m.holds[0].GetPod().GetName(), m.frame.styles))
}

// toNextHeld returns the footer's hint for going to the next held pod.
func (m *Model) toNextHeld() string {
	return m.textf(words.Text("to %s", "到 %s"), view.ShortName(m.nextHeld().GetPod().GetName(), m.frame.styles))
}

// oneOrAll returns the footer's hint for the key that goes between one pod and all pods.
func (m *Model) oneOrAll() string {
	if m.state.Many() {
		return m.text(words.Text("one pod", "单个 Pod"))
	}
	return m.text(words.Text("all pods", "所有 Pod"))
}

// hintOf returns the footer's present hint for an action.
func (m *Model) hintOf(a *action) screen.Hint {
	h := screen.Hint{Key: keyName(a.keys[0]), Text: m.text(a.hint), Off: m.offReason(a)}
	switch {
	case a.brief != nil:
		h.Text = a.brief(m)
	case a.moves != nil:
		h.Pod = a.moves(m)
	}
	return h
}

// groupByPod puts the hints about one pod together, in the place of the first of them, so that the pod is named
// once.
func groupByPod(hints []screen.Hint) (out []screen.Hint) {
	done := map[string]bool{}
	for i, h := range hints {
		if h.Pod == "" {
			out = append(out, h)
			continue
		}
		if done[h.Pod] {
			continue
		}
		done[h.Pod] = true
		for _, other := range hints[i:] {
			if other.Pod == h.Pod {
				out = append(out, other)
			}
		}
	}
	return out
}
