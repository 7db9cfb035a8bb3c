package agent

import (
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// TestRemark: the remark of a working probe is in its state, and makes no event. Reporting again that the probe works
// makes none either.
func TestRemark(t *testing.T) {
	w := newTwice(t)
	p := w.Probe("uprobe")
	remark := unheld.With("step", "sync.pod")
	of := func() (agentpb.ProbeState, string) { return p.proto().GetState(), wire.Why(p.proto().GetReason()).Code }
	p.Remark(remark)
	if state, code := of(); state != agentpb.ProbeState_PROBE_RUNNING || code != remark.Code {
		t.Errorf("it is %v because of %q", state, code)
	}
	p.State(agentpb.ProbeState_PROBE_RUNNING, probes.Reason{})
	if _, code := of(); code != remark.Code {
		t.Errorf("its remark is %q", code)
	}
	p.State(agentpb.ProbeState_PROBE_FAILED, probes.Reason{})
	p.Remark(remark)
	if state, code := of(); state != agentpb.ProbeState_PROBE_FAILED || code != "" {
		t.Errorf("it is %v because of %q", state, code)
	}
}

// TestRemarkIsNoReason: the remark of a working probe is not given as the reason why a step is not seen.
func TestRemarkIsNoReason(t *testing.T) {
	w := newTwice(t)
	remark := unheld.With("step", "sync.pod")
	for _, p := range w.probes {
		p.Remark(remark)
	}
	for i := range w.steps {
		if why := w.whyNotSeen(&w.steps[i]); wire.Why(why.GetReason()).Code == remark.Code {
			t.Fatalf("%s is not seen because of %q", w.steps[i].Name, remark.Code)
		}
	}
}

// TestWhyNoFail: for a step that a probe cannot make fail, the probe's reason is given.
func TestWhyNoFail(t *testing.T) {
	can := inAndOut()[0]
	step := can.Steps["sync.pod"]
	step.NoFail = unheld.With("step", "sync.pod")
	can.Steps["sync.pod"] = step
	r := newRig(t, Options{Probes: []probes.Abilities{can}})
	if why := r.whyNoFail(r.stepNamed("sync.pod")); why.GetCode() != agentpb.Problem_PROBE_CANNOT_FAIL || wire.Why(why.GetReason()).Code != step.NoFail.Code {
		t.Errorf("it cannot be made to fail because of %v", why)
	}
	if why := r.whyNoFail(r.stepNamed("worker.turn")); why.GetCode() != agentpb.Problem_STEP_CANNOT_FAIL {
		t.Errorf("without a reason it is %v", why)
	}
}
