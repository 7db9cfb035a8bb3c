package attach

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes/kubelets"
)

// TestUnused: a running kubelet that makes no more calls gets its socket back, and podstep names the reason. podstep
// tries again, and goes on when calls come.
func TestUnused(t *testing.T) {
	r := playRuntime(t)
	calls := startCalling(t, dialPath(t, r.path))
	dir := t.TempDir()
	o := played(Options{
		Kubelet: kubeletHere(t, r.path), Socket: filepath.Join(dir, "agent.sock"), State: filepath.Join(dir, "state"), Probes: []Kind{CRI},
	})
	o.unused, o.again = time.Second, time.Millisecond
	s, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.WithoutCancel(t.Context())) })
	untilState(t, s, agentpb.ProbeState_PROBE_RUNNING)
	calls.end()
	untilState(t, s, agentpb.ProbeState_PROBE_RETRYING)
	again := startCalling(t, dialPath(t, r.path))
	defer again.end()
	untilState(t, s, agentpb.ProbeState_PROBE_RUNNING)
	again.await(10)
}

// started returns when this process started, as in /proc.
func started(t *testing.T) uint64 { return startOf(t, os.Getpid()) }

// startOf returns when a process was started, as in /proc.
func startOf(t *testing.T, pid int) uint64 {
	t.Helper()
	out, err := kubelets.Started(pid)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func untilState(t *testing.T, s *Session, want agentpb.ProbeState) {
	t.Helper()
	for end := time.Now().Add(patience); s.agent.States()[0].State != want; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the probe is in the state %v, not %v", s.agent.States()[0].State, want)
		}
	}
}
