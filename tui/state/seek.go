package state

import (
	"sort"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/tui/screen"
)

func wireKind(k agentpb.Kind) probes.Kind { return wire.Kind(k) }

// ToggleFreeze stops the view where it is, or lets it go on. The agent and the session do not stop.
func (s *State) ToggleFreeze() {
	s.version++
	if s.frozen() && s.link != screen.LinkReplay {
		s.frozenAt, s.seekTime = none, 0
		return
	}
	if !s.frozen() {
		v := s.view()
		s.frozenAt, s.seekTime = v.at, v.now
	}
}

// freezeAt shows what was known before a position.
func (s *State) freezeAt(pos int, t int64) {
	s.version++
	s.frozenAt, s.seekTime = max(s.h.First(), min(pos, s.h.End())), t
}

// SeekTime shows what was known at a time since the first event.
func (s *State) SeekTime(d time.Duration) {
	t := min(s.firstTime()+int64(d), s.lives.Now().Time)
	n := s.h.End() - s.h.First()
	// Events are nearly in the order of time: a call whose event comes late has the time when it happened. That is
	// near enough to find a place.
	i := sort.Search(n, func(i int) bool { return s.h.TimeAt(s.h.First()+i) > t })
	s.freezeAt(s.h.First()+i, t)
}

// SeekEvent shows what was known after the event at a position.
func (s *State) SeekEvent(pos int) { s.freezeAt(pos+1, 0) }

func (s *State) firstTime() int64 { return s.h.TimeAt(s.h.First()) }

// Position returns the time of the view since the first event, and how long the session is in all.
func (s *State) Position() (at, of time.Duration) {
	v := s.view()
	first := s.firstTime()
	return history.Since(first, v.now), history.Since(first, max(s.lives.Now().Time, v.now))
}

// StepBack goes to the place before the selected pod's last event.
func (s *State) StepBack() bool {
	p, v := s.podAt(s.pod), s.view()
	i := history.LowerBound(p.Events.All, v.at)
	if i == 0 {
		return false
	}
	s.freezeAt(p.Events.All[i-1], 0)
	return true
}

// StepForward goes to the place after the selected pod's next event.
func (s *State) StepForward() bool {
	p, v := s.podAt(s.pod), s.view()
	i := history.LowerBound(p.Events.All, v.at)
	if i >= len(p.Events.All) {
		return false
	}
	s.freezeAt(p.Events.All[i]+1, 0)
	return true
}
