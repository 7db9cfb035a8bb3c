package kubelets

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestZombie: the error for a process that has ended says so.
func TestZombie(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	want := fmt.Sprintf("find kubelet %d: it has ended, and its parent has not taken note of that (a zombie): podstep doctor lists", cmd.Process.Pid)
	if err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != nil { // it stays a zombie
		t.Fatal(err)
	}
	if _, err := ByPID(t.Context(), cmd.Process.Pid, Options{}); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Fatalf("error %v, want %s", err, want)
	}
}
