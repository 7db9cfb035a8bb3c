package state

import (
	"github.com/podstep/podstep/agent/story/compare"
	"github.com/podstep/podstep/tui/screen"
)

// Compare lays the creations of two pods side by side, as of what is shown; nil: one of
// them is not known.
func (s *State) Compare(a, b screen.PodKey) *compare.Result {
	if int(a) >= s.outlines.Pods() || int(b) >= s.outlines.Pods() {
		return nil
	}
	v := s.view()
	return compare.Compare(
		compare.Of(s.h, s.outlines, int(a), v.at, v.now),
		compare.Of(s.h, s.outlines, int(b), v.at, v.now))
}
