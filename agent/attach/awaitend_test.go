package attach

import (
	"context"
	"os/exec"
	"testing"

	"github.com/podstep/podstep/probes/kubelets"
)

// TestAwaitEnd: the end of a process is noticed, and so is the end of the context, whichever comes first.
func TestAwaitEnd(t *testing.T) {
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	started, err := kubelets.Started(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	k := &kubelets.Kubelet{PID: cmd.Process.Pid, Started: started}
	process, err := openProcess(k.PID)
	if err != nil {
		t.Skipf("this kernel opens no process: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := awaitReadable(ended, process); err != nil { // it waits by Go's own poller
		t.Error(err)
	}
	process.Close()

	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan bool)
	go func() { result <- awaitEnd(ctx, k) }()
	cancel()
	if <-result {
		t.Error("a process that runs has ended")
	}
	go func() { result <- awaitEnd(t.Context(), k) }()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if !<-result {
		t.Error("the process's end is not seen")
	}
	_ = cmd.Wait()
	if !awaitEnd(t.Context(), k) {
		t.Error("a process that is not there any more has not ended")
	}
}
