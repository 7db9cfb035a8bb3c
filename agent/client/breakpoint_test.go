package client

import (
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/agenttest"
)

// TestAddBreakpointOfOldAgent: an agent that does not know snapshots is not asked for one, since it would hold pods. It is
// asked for everything else.
func TestAddBreakpointOfOldAgent(t *testing.T) {
	for _, knows := range []bool{false, true} {
		a := &agenttest.Agent{About: agenttest.Info()}
		a.About.Snapshots = knows
		c := dial(t, a)
		want := 1
		if knows {
			want = 2
		}
		if _, err := c.AddBreakpoint(t.Context(), &agentpb.AddBreakpointRequest{Step: "sync.pod"}); err != nil {
			t.Errorf("a hold: %v", err)
		}
		_, err := c.AddBreakpoint(t.Context(), &agentpb.AddBreakpointRequest{Step: "sync.pod", Action: &agentpb.AddBreakpointRequest_Snapshot{Snapshot: &agentpb.SnapshotAction{}}})
		if refused := err != nil; refused == knows {
			t.Errorf("knows snapshots: %v, and the answer is %v", knows, err)
		}
		if err != nil && !strings.Contains(err.Error(), "update podstep on the node") {
			t.Errorf("the reason does not say what to do: %v", err)
		}
		if n := len(a.Breakpoints()); n != want {
			t.Errorf("knows snapshots: %v, and the agent has %d breakpoints, want %d", knows, n, want)
		}
	}
}
