package tui

import (
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/tui/tours"
)

// attachedDesk is a screen with an agent that is attached to a kubelet: the agent sees the calls to the runtime, and
// holds pods before some of them.
func attachedDesk(t *testing.T) *desk {
	t.Helper()
	w := newWorld()
	w.info.Probes, w.info.Lab = []*agentpb.Probe{{Name: "cri", State: agentpb.ProbeState_PROBE_RUNNING}}, false
	for _, s := range w.info.Steps {
		switch can := s.Abilities[0]; {
		case s.Stage != "cri":
			s.Abilities[0] = &agentpb.Ability{HoldEnter: "no", HoldExit: "no", Unseen: &agentpb.Reason{Code: "happens inside the kubelet"}}
		case s.Name == "cri.PodSandboxStatus":
			can.HoldEnter, can.HoldExit, can.NoHold = "no", "no", &agentpb.Reason{Code: "PLEG makes this call too"}
		}
		s.HoldEnter, s.HoldExit = s.Abilities[0].HoldEnter, s.Abilities[0].HoldExit
	}
	d := newDesk(t, w, Options{})
	d.m.offered = true
	return d.live(w.creation(web))
}

// TestAttachedStepping: a pod goes from call to call. Ways of stepping that need turns or nested calls say why they
// do nothing.
func TestAttachedStepping(t *testing.T) {
	d := attachedDesk(t)
	d.press("H", "right", "enter").called("hold web")
	d.press("s").called("step INTO ")
	d.press("o").called("step OVER ")
	d.press("i").called("step NEXT_CRI ")
	for key, why := range map[string]string{"O": "no call is seen to be in another", "S": "calls to the runtime only", "y": "turns of the worker are not seen"} {
		d.press(key).sees(why).called()
	}
	d.press("c").called("continue u-web")
}

// TestAttachedHolds: a step at which this agent holds no pod is refused with the reason, wherever the person names
// it.
func TestAttachedHolds(t *testing.T) {
	for _, c := range []struct{ step, why string }{
		{"cri.PodSandboxStatus", "PLEG makes this call too"}, {"sync.volumes", "happens inside the kubelet"},
	} {
		d := attachedDesk(t)
		d.press("H", "right", "enter").called("hold web")
		d.press("u").write(c.step).press("enter").called()
		d.sees("a pod cannot be held at "+c.step, c.why).press("esc")
		if err := d.m.checkHold(c.step); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v", c.step, err)
		}
	}
	d := attachedDesk(t)
	for _, step := range []string{"cri.RunPodSandbox", "cri.*", "sync.*"} {
		if err := d.m.checkHold(step); err != nil {
			t.Errorf("%s is refused: %v", step, err)
		}
	}
}

// TestAttachedWalks: walks lead through the kubelet. Here they are listed, with the reason why they cannot be taken.
func TestAttachedWalks(t *testing.T) {
	d := attachedDesk(t)
	all, err := tours.Load()
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		if why := d.m.walkOff(&all[i]); !strings.Contains(why, "attached podstep") {
			t.Errorf("%s: %q", all[i].Name, why)
		}
	}
	d.sees(" cri ", "not seen: inside the kubelet")
	d.m.info.ReadOnly = true
	if why := d.m.walkOff(&all[0]); !strings.Contains(why, "read-only") {
		t.Errorf("with a read-only agent: %q", why)
	}
}
