package agent

import (
	"slices"
	"sync"
	"time"
)

// sights remembers the latest calls of steps that several probes see, so that a call is recognized when another probe
// reports it. Probes report neither at once nor in order: the inner sight of a call, such as the one on the runtime's
// socket, may come in before the outer one, or after the call has ended.
type sights struct {
	mu  sync.Mutex
	all []*sight // oldest first
}

// sight is the first sight of a call.
type sight struct {
	span *span
	end  int64  // mono, or -1: it goes on
	by   uint32 // a bit for each probe that has seen it
}

const (
	// keptSights bounds how many calls are remembered. A kubelet begins fewer calls to the runtime while a probe is
	// behind.
	keptSights = 512
	// apart is by how much two probes may differ about when a call began, in nanoseconds: one takes the time where the
	// kubelet makes the call, the other where the runtime gets it.
	apart = int64(250 * time.Millisecond)
)

// match reports whether another probe has seen the call already: a call of the same step about the same pod, at the
// same time, with no field that differs. If so, s becomes another sight of that call. If not, s is remembered as the
// first sight of its call. A probe sees a call once.
func (t *sights) match(s *span) bool {
	if s.only() == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var best *sight
	for _, x := range t.all {
		if x.by&(1<<s.probe) == 0 && x.suits(s) && (best == nil || away(x, s) < away(best, s)) {
			best = x
		}
	}
	if best == nil {
		if len(t.all) >= keptSights {
			t.all = slices.Delete(t.all, 0, 1)
		}
		t.all = append(t.all, &sight{span: s, end: -1, by: 1 << s.probe})
		return false
	}
	best.by |= 1 << s.probe
	s.become(best.span)
	return true
}

// ended notes that the call whose first sight is s has ended.
func (t *sights) ended(s *span, mono int64) {
	if !s.step.seers.shared.Load() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, x := range t.all {
		if x.span == s {
			x.end = mono
		}
	}
}

// away returns the time between the begins of a call as two probes saw them, in nanoseconds.
func away(x *sight, s *span) int64 { return max(x.span.start-s.start, s.start-x.span.start) }

func (x *sight) suits(s *span) bool {
	first := x.span
	if first.step != s.step || first.one.pod != s.one.pod || x.end >= 0 && s.start > x.end {
		return false
	}
	// The outer sight begins before the inner one.
	return s.start >= first.start-apart && !first.fields().Differ(s.fields())
}

// become makes s one more sight of the call first.
func (s *span) become(first *span) {
	s.same, s.late = first, false
	if s.parent == nil {
		s.parent = first.parent
	}
	if s.worker == nil {
		s.worker = first.worker
	}
	s.one.id, s.one.updates = first.one.id, first.one.updates
	s.one.emitted.Store(true)
}
