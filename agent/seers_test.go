package agent

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// TestSetAbilities: when the kubelet is replaced, the probes see, hold and share what they can in the new one, and
// clients from before and after read the same probes' names from the events.
func TestSetAbilities(t *testing.T) {
	w := newTwice(t)
	before := w.info()
	in := *w.in.can.Load()
	in.Steps = maps.Clone(in.Steps)
	delete(in.Steps, "cri.StopContainer")
	in.Steps["sync.pod"] = probes.Everything()
	idle, err := w.svc.AddBreakpoint(t.Context(), &agentpb.AddBreakpointRequest{Step: "cri.StopContainer", On: agentpb.On_ON_ENTER})
	if err != nil {
		t.Fatal(err)
	}
	w.SetKubelet("v1.99.0")
	w.SetAbilities([]probes.Abilities{in})
	after := w.info()

	if before.KubeletVersion == after.KubeletVersion || after.KubeletVersion != "v1.99.0" {
		t.Errorf("the kubelet's version was %q and is %q", before.KubeletVersion, after.KubeletVersion)
	}
	w.SetAbilities([]probes.Abilities{{Probe: "cri"}}) // for a moment
	if text := fmt.Sprint(w.nodeEvents()); !strings.Contains(text, fmt.Sprintf("breakpoint %d, at cri.StopContainer, acts nowhere in this kubelet, v1.99.0", idle.Id)) {
		t.Errorf("no note says that the breakpoint acts nowhere: %s", text)
	}
	w.SetAbilities(inAndOut()[1:])
	if s := w.stepNamed("sync.pod"); !w.canHold(s, enter) || w.rule(s, enter) == probes.HoldNo {
		t.Error("no pod can be held at a step that can be held at now")
	}
	if s := w.stepNamed("cri.StopContainer"); s.seers.shared.Load() || !w.stepNamed("cri.StopPodSandbox").seers.shared.Load() {
		t.Error("a step that only one probe sees is shared, or one that both see is not")
	}
	if w.stop(w.in, "c1", 3, nil) != nil {
		t.Error("a probe sees a step that it cannot see any more")
	}
	w.stop(w.out, "c1", 3, nil).End(w.at(5), nil, nil)
	w.in.Begin(Seen{Step: "cri.StopPodSandbox", At: w.at(10), Values: []any{"s1", "s1"}}).End(w.at(20), nil, nil)
	by := map[string]string{}
	for _, info := range []*agentpb.InfoResponse{before, after} {
		d := wire.NewDecoder(info)
		for _, e := range w.events("web") {
			h := &wire.Header{Kind: e.Kind, Step: e.Step, Probe: e.Probe}
			if name := info.Steps[max(e.Step, 1)-1].Name; e.Kind == agentpb.Kind_ENTER {
				by[name] += " " + d.Probe(h)
			}
		}
	}
	if by["cri.StopContainer"] != " cri cri" || by["cri.StopPodSandbox"] != " uprobe uprobe" {
		t.Errorf("clients read %v", by)
	}
}

// TestSetKubelet: clients are told of another version, by the state of a probe, also where the probes go on as before.
func TestSetKubelet(t *testing.T) {
	w := newTwice(t)
	reports := func() (n int) {
		for _, e := range w.nodeEvents() {
			if (&wire.Header{Kind: e.Kind, Step: e.Step, Probe: e.Probe}).ReportsState() {
				n++
			}
		}
		return n
	}
	before := reports()
	w.SetKubelet(w.Kubelet())
	if n := reports(); n != before {
		t.Errorf("%d states were reported of the same kubelet, want %d", n, before)
	}
	w.SetKubelet("v1.99.0")
	if n := reports(); n != before+1 {
		t.Errorf("%d states were reported of another kubelet, want %d", n, before+1)
	}
}

// TestSetAbilitiesMeanwhile: calls go on while abilities change.
func TestSetAbilitiesMeanwhile(t *testing.T) {
	w := newTwice(t)
	in := *w.in.can.Load()
	none := probes.Abilities{Probe: in.Probe, NotSeen: unheld.With("step", "any")}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 50 {
			w.SetAbilities([]probes.Abilities{[]probes.Abilities{none, in}[i%2]})
		}
	}()
	for calls := 0; ; calls++ {
		select {
		case <-done:
			w.stop(w.in, "c1", calls, nil).End(time.Now(), nil, nil)
			if why := w.whyNotSeen(w.stepNamed("sync.pod")).String(); strings.Contains(why, "test.unheld") {
				t.Errorf("at last the step is not seen: %s", why)
			}
			return
		default:
			w.stop(w.in, "c1", calls, nil).End(time.Now(), nil, nil)
			w.stop(w.out, "c2", calls, nil).End(time.Now(), nil, nil)
			w.info()
		}
	}
}
