package holding

import (
	"sync/atomic"

	"google.golang.org/grpc/codes"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/pods"
	"github.com/podstep/podstep/agent/reason"
)

// Pod is a pod as the table of holds knows it: what the table of pods knows of it, and what is asked of it. The owner of the
// table of pods makes one for each of its pods. It can be read without a lock.
type Pod[At any] struct {
	*pods.Pod

	pending   atomic.Pointer[Pending[At]] // nil: nobody asked for a hold
	forbidden atomic.Pointer[string]      // why it may not be held any more; nil: it may
}

// Forbidden returns why the pod may not be held any more, or "".
func (p *Pod[At]) Forbidden() string {
	if no := p.forbidden.Load(); no != nil {
		return *no
	}
	return ""
}

// Check returns an error for a pod that may not be held any more and, without force, for a pod on which the node or the
// cluster depends.
func (p *Pod[At]) Check(force bool) error {
	if no := p.Forbidden(); no != "" {
		return refused(&agentpb.Problem{Code: agentpb.Problem_NOT_HOLDABLE, Args: map[string]string{"pod": p.FullName(), "reason": no}})
	}
	if why := p.Critical(); why != nil && !force {
		return refused(&agentpb.Problem{Code: agentpb.Problem_CRITICAL_POD, Args: map[string]string{"pod": p.FullName()}, Cause: why})
	}
	return nil
}

// refused returns the error of a request that cannot be met now.
func refused(p *agentpb.Problem) error { return reason.Failed(codes.FailedPrecondition, p) }
