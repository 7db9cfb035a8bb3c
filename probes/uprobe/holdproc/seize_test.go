//go:build linux && (amd64 || arm64)

package holdproc

import (
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/podstep/podstep/probes/inside/park"
	"github.com/podstep/podstep/probes/kubelets"
)

// TestReusedNumber: a process that has got the number of a kubelet that has ended is not traced, however long ago the
// hold process was started.
func TestReusedNumber(t *testing.T) {
	c := exec.Command("sleep", "1000")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	runtime.LockOSThread() // never unlocked: the kernel lets go of what the thread traces when it ends
	k := &tracer{program: &park.Program{PID: c.Process.Pid}, started: 1, threads: map[int]*thread{}}
	if kubelets.Same(c.Process.Pid, k.started) {
		t.Fatal("the process was started with the machine")
	}
	if err := k.seize(); err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("it is traced: %v", err)
	}
	if by := park.TracerOf(c.Process.Pid, c.Process.Pid); by != 0 || len(k.threads) != 0 {
		t.Errorf("process %d traces %d of its threads", by, len(k.threads))
	}
}
