package attach

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
)

// TestUnused: a kubelet that runs and does not come any more gets its socket back, for a
// reason that is known; podstep tries again, and goes on when calls come.
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

// started is when this process did, as /proc has it.
func started(t *testing.T) uint64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		t.Fatal(err)
	}
	out, err := strconv.ParseUint(strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))[19], 10, 64)
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
