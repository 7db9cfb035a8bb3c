package agent

import (
	"context"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podstep/podstep/probes/hook"
)

// span is one call of a step: a hook.Span and what the agent knows of it.
type span struct {
	hook.Span
	step   *stepInfo
	parent *span
	runs
	probe uint8 // that sees it
	// same is the call as another probe saw it before; nil: this is the first
	// sight.
	same  *span
	late  bool  // enter is published only if something comes of the call
	fault bool  // the step was made to fail
	start int64 // mono
	wall  int64
	// body is when the function went on from a hold at its entry; zero: at once.
	body int64
	// line is where in the function of the call around it this one was made; zero: that is
	// not known.
	line uint32
	// caller ends when whoever waits for the call gives up; nil: that is not
	// seen.
	caller context.Context

	// one is the call as part of a pod's story, or of the node's; its id is 0
	// if the call is part of none. many is set instead for a call that is about
	// several pods.
	one  podSpan
	many *podSpans

	kept *keptFields // nil: none is needed after its event
}

// keptFields are what is shown on enter and on exit.
type keptFields struct{ enter, exit fieldBytes }

// roomySpan is a span that has room for the fields of its enter.
type roomySpan struct {
	span
	kept keptFields
	room [keptRoom]byte
}

// fields is what is shown on enter, if it was kept.
func (s *span) fields() fieldBytes { return s.shown(enter) }

// shown is what is shown on a side, if it was kept.
func (s *span) shown(side int) fieldBytes {
	switch {
	case s.kept == nil:
		return nil
	case side == exit:
		return s.kept.exit
	}
	return s.kept.enter
}

// newSpan makes the span of a call. It is all that an event costs in memory.
func newSpan(step *stepInfo) *span {
	if !step.keeps || len(step.enterNames) == 0 {
		return &span{step: step, late: step.late}
	}
	r := &roomySpan{span: span{step: step, late: step.late}}
	r.kept.enter = r.room[:0]
	r.span.kept = &r.kept
	return &r.span
}

// podSpan is a call as part of one pod's story. A nil pod is the node.
type podSpan struct {
	pod *pod
	// object is the uid of the object by which a list has the pod: its own, or
	// that of its mirror.
	object types.UID
	id     uint64
	// updates is how many updates the pod's worker had been sent as this began.
	updates uint32

	// parent is the call that this happens in, once the enter event is out.
	parent uint64

	mu      sync.Mutex
	emitted atomic.Bool // the enter event is out; set under mu
	over    bool        // the call has ended without a word, and stays so
}

// endSilently ends the call without events, unless calls in it have published its enter. A
// goroutine that it started may begin its own call later than that.
func (ps *podSpan) endSilently() bool {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.over = !ps.emitted.Load()
	return ps.over
}

// ofMirror reports whether the call is about the mirror of a static pod.
func (ps *podSpan) ofMirror() bool {
	return ps.pod != nil && ps.object != "" && string(ps.object) != ps.pod.UID
}

func newPodSpan(p *pod, ids *atomic.Uint64) *podSpan {
	return &podSpan{pod: p, id: ids.Add(1), updates: p.State.updates.Load()}
}

// podSpans are the pods of a call that is about several.
type podSpans struct {
	mu  sync.Mutex
	all []*podSpan
}

func spanOf(s *hook.Span) *span {
	if s == nil {
		return nil
	}
	own, _ := s.State.(*span)
	return own
}

// parts are the stories that the call is part of.
func (s *span) parts() []*podSpan {
	if s.many == nil {
		if s.one.id == 0 {
			return nil
		}
		return []*podSpan{&s.one}
	}
	s.many.mu.Lock()
	defer s.many.mu.Unlock()
	return append([]*podSpan(nil), s.many.all...)
}

// part is the call as part of the story of p, or nil.
func (s *span) part(p *pod) *podSpan {
	if s.many == nil {
		if s.one.id != 0 && s.one.pod == p {
			return &s.one
		}
		return nil
	}
	s.many.mu.Lock()
	defer s.many.mu.Unlock()
	for _, ps := range s.many.all {
		if ps.pod == p {
			return ps
		}
	}
	return nil
}

// add makes the call part of the story of p, if it is not.
func (s *span) add(p *pod, ids *atomic.Uint64) *podSpan {
	if ps := s.part(p); ps != nil {
		return ps
	}
	ps := newPodSpan(p, ids)
	s.many.mu.Lock()
	defer s.many.mu.Unlock()
	s.many.all = append(s.many.all, ps)
	return ps
}

// only is the one pod that the call is about, or nil.
func (s *span) only() *pod {
	if s == nil || s.many != nil {
		return nil
	}
	return s.one.pod
}

// inherited is the pod that a call belongs to by where it happens.
func (s *span) inherited() *pod {
	for ; s != nil; s = s.parent {
		if p := s.only(); p != nil {
			return p
		}
	}
	return nil
}

// within reports whether s is other, or happens in it.
func (s *span) within(other *span) bool {
	for ; s != nil; s = s.parent {
		if s == other {
			return true
		}
	}
	return false
}
