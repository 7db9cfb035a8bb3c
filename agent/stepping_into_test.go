package agent

import (
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
)

// TestStepIntoCall: a pod goes into the call that a person has chosen, past those before it. If the call does not come, the pod is
// held where a step over ends.
func TestStepIntoCall(t *testing.T) {
	for _, c := range []struct{ from, into, want string }{
		{"sync.pod", "rt.sync", "rt.sync enter"},
		{"sync.pod", "cri.*", "cri.StartContainer enter"},
		{"rt.sync", "cri.StartContainer", "cri.StartContainer enter"},
		{"sync.genstatus", "cri.StartContainer", "rt.sync enter"},
	} {
		r := newRig(t, Options{})
		p := newPod("default", "web")
		r.pods.Object(p)
		r.breakAt(p, c.from, agentpb.On_ON_ENTER)
		done := r.startContainer(p)
		r.held(p)
		if got := at(r.step(p, agentpb.StepMode_INTO, c.into)); got != c.want {
			t.Errorf("from %s into %s the pod came to %s, want %s", c.from, c.into, got, c.want)
		}
		_, err := r.svc.Step(t.Context(), &agentpb.StepRequest{Pods: sel(p), Mode: agentpb.StepMode_INTO, Until: "no.step"})
		if err == nil {
			t.Error("a step that does not exist can be gone into")
		}
		r.releaseAll("continue")
		<-done
	}
}
