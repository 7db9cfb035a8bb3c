package tui

import (
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/tui/screen"
)

// selected is the selected pod; false if none is, or the node itself.
func (m *Model) selected() (*probes.Pod, bool) {
	_, pod, ok := m.state.Selected()
	return pod, ok && pod != nil && pod.Name != ""
}

// pods are all pods, without the node itself.
func (m *Model) pods() (out []screen.PodRow) {
	for _, r := range m.state.PodsNamed() {
		if r.Key != 0 {
			out = append(out, r)
		}
	}
	return out
}
