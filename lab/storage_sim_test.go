//go:build sim

package lab_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/labtest"
)

// TestStorage: the pod of the example gets its volumes of the lab's CSI driver. What it writes into the volume of a claim
// is there for the next pod; the volume of its own is gone. The lab lives on when the driver is killed.
func TestStorage(t *testing.T) {
	l := labtest.StartSim(t, "--storage")
	storage := filepath.Join(l.Dir, "node", "storage")
	printed := func() string {
		t.Helper()
		log, err := l.Client.CoreV1().Pods("default").GetLogs("writer", &corev1.PodLogOptions{}).Do(l.Context()).Raw()
		if err != nil {
			t.Fatal(err)
		}
		return string(log)
	}
	for _, want := range []string{"", "page"} {
		kubectl(t, l, "apply", "-f", filepath.Join(examples, "storage.yaml"))
		l.UntilReady("writer")
		if got := strings.TrimSpace(printed()); got != want {
			t.Errorf("the container finds %q, not %q", got, want)
		}
		if scratch, err := os.ReadDir(filepath.Join(storage, "ephemeral")); err != nil || len(scratch) != 1 {
			t.Errorf("%d volumes of pods' own, %v", len(scratch), err)
		}
		l.Delete("writer")
		l.UntilGone("writer")
	}
	for _, kind := range []string{"ephemeral", "staged"} {
		labtest.Eventually(t, kind+" is empty", func() bool {
			left, err := os.ReadDir(filepath.Join(storage, kind))
			return err == nil && len(left) == 0
		})
	}
	if err := syscall.Kill(l.State.Pids["csi-driver"], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	l.Create(labtest.BusyboxPod("plain", labtest.Sleep))
	l.UntilReady("plain")
}
