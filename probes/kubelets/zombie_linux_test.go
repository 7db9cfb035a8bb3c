package kubelets

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestZombie: the error for a process that has ended says so.
func TestZombie(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	want := fmt.Sprintf("find kubelet %d: it has ended, and its parent has not taken note of that (a zombie): podstep doctor lists", cmd.Process.Pid)
	for late := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		_, err := ByPID(t.Context(), cmd.Process.Pid, Options{})
		if err != nil && strings.HasPrefix(err.Error(), want) {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("error %v, want %s", err, want)
		}
	}
}
