package life

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/podstep/podstep/agent/agentpb"
)

// PodState returns what a pod is doing, as agents answer it: by its life p, at a time since the agent began, in
// nanoseconds. It has no holds. It is nil if the pod is gone, or if no event is about it.
func (l *Lives) PodState(pod *agentpb.Pod, p *Pod, mono int64) *agentpb.PodState {
	st, since := l.State(p, mono)
	if st == Gone || p.First == 0 {
		return nil
	}
	step := l.h.Step(l.StepOf(p))
	return &agentpb.PodState{
		Pod: pod, Phase: p.Phase.String(), State: st.String(), Stage: step.Stage, Step: step.Name,
		Since: timestamppb.New(time.Unix(0, l.h.Origin()+since)), Error: l.ErrorOf(p),
		Sync: p.Sync, Deleting: p.Deleting, Ready: p.Ready,
	}
}
