package state

import (
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// LastStack returns the last event with a stack snapshot of the selected pod, as far as the screen shows its story, and
// the frames; nil: there is none.
func (s *State) LastStack() (probes.Event, []wire.Frame) {
	if s.pod == none {
		return probes.Event{}, nil
	}
	return s.h.LastStack(s.pod, s.view().at)
}
