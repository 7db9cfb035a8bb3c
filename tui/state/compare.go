package state

import (
	"github.com/podstep/podstep/agent/story/compare"
	"github.com/podstep/podstep/tui/screen"
)

// Compare lays a part of the stories of two pods side by side, as of what is shown. It returns nil if one of the
// pods is not known.
func (s *State) Compare(a, b screen.PodKey, part compare.Part) *compare.Result {
	if int(a) >= s.outlines.Pods() || int(b) >= s.outlines.Pods() {
		return nil
	}
	v := s.view()
	as := compare.Moment{At: v.at, Now: v.now, World: v.w}
	return compare.Compare(compare.Of(s.h, s.outlines, int(a), part, as), compare.Of(s.h, s.outlines, int(b), part, as))
}
