package agent

import (
	"sync"

	"github.com/podstep/podstep/agent/hook"
)

// span is the agent's part of a hook.Span: one call of a step.
type span struct {
	step   *stepInfo
	parent *span
	role   uint8
	start  int64 // mono
	wall   int64

	// pods are the pods that the call is about: mostly one.
	mu     sync.Mutex
	pods   []podSpan
	fields []field // shown on enter, until all pods' enter is out
	late   bool    // enter is told only if something comes of the call
	fault  bool    // the step was made to fail
}

// podSpan is the call as part of one pod's story. A nil pod is the node.
type podSpan struct {
	pod  *pod
	id   uint64
	told bool // the enter event is out
}

func spanOf(s *hook.Span) *span {
	if s == nil {
		return nil
	}
	own, _ := s.State.(*span)
	return own
}

// only is the one pod that the call is about, or nil.
func (s *span) only() *pod {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.pods) != 1 {
		return nil
	}
	return s.pods[0].pod
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

// within tells whether s is other, or happens in it.
func (s *span) within(other *span) bool {
	for ; s != nil; s = s.parent {
		if s == other {
			return true
		}
	}
	return false
}
