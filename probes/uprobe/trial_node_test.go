//go:build node && linux

package uprobe

import (
	"os"
	"testing"
)

// TestTryKernel: this machine's kernel does all that the probe asks of it, in both forms, and nothing of the trial is left.
func TestTryKernel(t *testing.T) {
	before := openFiles(t)
	k := TryKernel()
	for _, row := range k.Table() {
		t.Logf("the kernel %s: %v %v", row.Thing.En, !row.Missing, row.Err)
		if row.Missing {
			t.Errorf("the kernel %s: %v", row.Thing.En, row.Err)
		}
	}
	if now := openFiles(t); now != before {
		t.Errorf("there were %d files open and are %d", before, now)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}
