package relayproc

import (
	"os"
	"testing"

	"github.com/podstep/podstep/probes/kubelets"
)

// The kubelet's pid may be another process's after its end.
func TestIsKubelet(t *testing.T) {
	pid := os.Getpid()
	p := &process{o: Options{PID: pid, Started: startOf(t, pid)}}
	if !p.isKubelet(pid) || p.isKubelet(os.Getppid()) {
		t.Error("the kubelet is not known by its pid alone, or others are taken for it")
	}
	p.o.Started--
	if p.isKubelet(pid) {
		t.Error("a later process is taken for the kubelet")
	}
}

// startOf returns when a process was started, as in /proc.
func startOf(t *testing.T, pid int) uint64 {
	t.Helper()
	started, err := kubelets.Started(pid)
	if err != nil {
		t.Fatal(err)
	}
	return started
}
