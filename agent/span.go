package agent

import (
	"context"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes/hook"
)

// span is one call of a step: a hook.Span and what the agent knows of it.
type span struct {
	hook.Span
	step   *stepInfo
	parent *span
	runs
	probe uint8 // the probe that sees it
	// same is the call as another probe saw it before; nil: this is the first
	// sight.
	same  *span
	late  bool  // enter is published only if something comes of the call
	fault bool  // the step was made to fail
	start int64 // mono
	wall  int64
	// body is when the function went on after a hold at its entry; zero: it was not held there.
	body int64
	// line is the line in the function of the call around it at which this one was made; zero: it is not known.
	line uint32
	// caller is done when the caller gives up the call; nil: that is not seen.
	caller context.Context

	// one is the call as part of a pod's story, or of the node's; its id is 0
	// if the call is part of none. many is set instead for a call that is about
	// several pods.
	one  podSpan
	many *podSpans

	kept *keptFields // nil: none is needed after its event
}

// keptFields are the fields that are shown on enter and on exit.
type keptFields struct{ enter, exit fieldBytes }

// roomySpan is a span that has room for the fields of its enter.
type roomySpan struct {
	span
	kept keptFields
	room [keptRoom]byte
}

// fields returns what is shown on enter, if it was kept.
func (s *span) fields() fieldBytes { return s.shown(enter) }

// shown returns what is shown on a side, if it was kept.
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
	if !step.keepsFields() || len(step.enterNames) == 0 {
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
	// object is the uid of the object that a list has for the pod: its own, or its mirror's.
	object types.UID
	id     uint64
	// updates is how many updates the pod's worker had been sent when the call began.
	updates uint32

	// parent is the id of the call around this one, once the enter event is out.
	parent uint64

	mu      sync.Mutex
	emitted atomic.Bool // the enter event is out; set under mu
	over    bool        // the call has ended without an event, and gets none any more
}

// endSilently ends the call without events, unless calls within it have published its enter, and reports whether it
// did. A goroutine that the call started may begin a call of its own later.
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

// parts returns the call as part of each story that it is in.
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

// part returns the call as part of the story of p, or nil.
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

// addPod makes the call part of the story of p, if it is not yet, and returns that part.
func (s *span) addPod(p *pod, ids *atomic.Uint64) *podSpan {
	if ps := s.part(p); ps != nil {
		return ps
	}
	ps := newPodSpan(p, ids)
	s.many.mu.Lock()
	defer s.many.mu.Unlock()
	s.many.all = append(s.many.all, ps)
	return ps
}

// only returns the one pod that the call is about, or nil.
func (s *span) only() *pod {
	if s == nil || s.many != nil {
		return nil
	}
	return s.one.pod
}

// inherited returns the pod of the innermost call, from s outwards, that is about one pod; nil: there is none.
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

// checkEarly finds out whether a call that may be quiet is to be published as it begins, by its fields: see probes.Step.Early.
func (s *span) checkEarly(shown fieldBytes) {
	if !s.late || s.step.Early == "" {
		return
	}
	if n, ok := wire.Lookup(shown, s.step.Early).Number(); ok && n > 0 {
		s.late = false
	}
}
