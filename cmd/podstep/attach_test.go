package main

import (
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/cmd/podstep/node"
)

// TestProbeNames: the help of attach, which is the same on every system, names the registered probes.
func TestProbeNames(t *testing.T) {
	attach, names := (&app{where: &where{}}).attach(), strings.Join(node.ProbeNames(), ",")
	for _, text := range []string{attach.Use, attach.Flags().Lookup("probe").Usage} {
		if !strings.Contains(text, names) {
			t.Errorf("%q does not name %s", text, names)
		}
	}
}

// TestReadyLine: the line names the probes that were wanted and see nothing.
func TestReadyLine(t *testing.T) {
	all := []*agentpb.Probe{
		{Name: "cri", State: agentpb.ProbeState_PROBE_RETRYING}, {Name: "uprobe", State: agentpb.ProbeState_PROBE_RUNNING},
		{Name: "api", State: agentpb.ProbeState_PROBE_STARTING}, {Name: "kubelet", State: agentpb.ProbeState_PROBE_FAILED}, {Name: "delve", State: agentpb.ProbeState_PROBE_STOPPED},
	}
	for want, of := range map[string][]*agentpb.Probe{"ready  /run/a.sock  without cri, kubelet": all, "ready  /run/a.sock": all[1:3]} {
		if got := readyLine("/run/a.sock", sightless(of)); got != want {
			t.Errorf("it is %q, want %q", got, want)
		}
	}
}
