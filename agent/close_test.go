package agent

import (
	"sync"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/hook"
)

// TestCloseAtOnce: several goroutines may close the agent at the same time: for a signal, for the kubelet that has
// returned, at a test's end.
func TestCloseAtOnce(t *testing.T) {
	c := probes.MustLoad()
	for range 50 {
		a, err := New(c, Options{Probes: seesAll()})
		if err != nil {
			t.Fatal(err)
		}
		a.Attach()
		a.Note("something to hand on before the end")
		var all sync.WaitGroup
		begin := make(chan struct{})
		for range 16 {
			all.Go(func() {
				<-begin
				a.Close()
				st := &agentpb.StatsResponse{}
				if a.journal.AddStats(st); st.RecorderEvents != 1 {
					t.Error("Close has returned and the agent has not ended")
				}
			})
		}
		close(begin)
		all.Wait()
	}
	if n := hook.Faults(); n != 0 {
		t.Errorf("%d faults", n)
	}
}
