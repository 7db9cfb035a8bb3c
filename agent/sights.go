package agent

import (
	"slices"
	"sync"
	"time"
)

// sights are the calls of late that were seen by one of several probes which see
// their step, so that those can be found that another one sees too. Probes are
// neither quick nor in order: the inner sight of a call, such as that of the
// runtime's socket, may come in before the outer one, and when the call is over.
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
	// keptSights bounds how many are remembered. A kubelet begins fewer calls to
	// the runtime while a probe is behind.
	keptSights = 512
	// apart is how much two probes may differ about when a call began: one takes
	// the time where the kubelet makes the call, one where the runtime gets it.
	apart = int64(250 * time.Millisecond)
)

// match reports whether another probe has seen the call already: a call of the same
// step about the same pod, at the same time, with nothing in its fields that
// differs. If so, s becomes that call seen once more. If not, it is remembered as
// the first sight of its call. A probe sees a call once.
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

// ended notes that a call has ended of which s is the first sight.
func (t *sights) ended(s *span, mono int64) {
	if !s.step.shared {
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

// away is how far apart two probes saw the call begin.
func away(x *sight, s *span) int64 { return max(x.span.start-s.start, s.start-x.span.start) }

func (x *sight) suits(s *span) bool {
	first := x.span
	if first.step != s.step || first.one.pod != s.one.pod || x.end >= 0 && s.start > x.end {
		return false
	}
	// The one that is seen further out began before the other.
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
