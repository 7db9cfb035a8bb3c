package state

import (
	"sort"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

func wireKind(k agentpb.Kind) probes.Kind { return wire.Kind(k) }

// ToggleFreeze stops the view where it is, or lets it go on. The agent and the
// session go on all the same.
func (s *State) ToggleFreeze() {
	s.version++
	if s.frozen() && s.link != LinkReplay {
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
	s.frozenAt, s.seekTime = max(s.arena.first, min(pos, s.arena.end)), t
}

// SeekTime shows what was known at a time since the first event.
func (s *State) SeekTime(d time.Duration) {
	t := min(s.firstTime()+int64(d), s.now.time)
	n := s.arena.end - s.arena.first
	// Events are nearly in the order of time: a call that is told late has the
	// time that it had. That is near enough to find a place.
	i := sort.Search(n, func(i int) bool { return s.timeAt(s.arena.first+i) > t })
	s.freezeAt(s.arena.first+i, t)
}

// SeekEvent shows what was known after the event at a position.
func (s *State) SeekEvent(pos int) { s.freezeAt(pos+1, 0) }

func (s *State) firstTime() int64 { return s.timeAt(s.arena.first) }

// Position is where the view is, since the first event, and how long the
// session is in all.
func (s *State) Position() (at, of time.Duration) {
	v := s.view()
	first := s.firstTime()
	return since(first, v.now), since(first, max(s.now.time, v.now))
}

// StepBack goes to before the last event of the selected pod.
func (s *State) StepBack() bool {
	p, v := s.pods[s.pod], s.view()
	i := lowerBound(p.events.all, v.at)
	if i == 0 {
		return false
	}
	s.freezeAt(p.events.all[i-1], 0)
	return true
}

// StepForward goes to after the next event of the selected pod.
func (s *State) StepForward() bool {
	p, v := s.pods[s.pod], s.view()
	i := lowerBound(p.events.all, v.at)
	if i >= len(p.events.all) {
		return false
	}
	s.freezeAt(p.events.all[i]+1, 0)
	return true
}
