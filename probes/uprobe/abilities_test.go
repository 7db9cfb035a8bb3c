//go:build linux

package uprobe

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/reasons"
)

// TestHolds: a step can be held where the person and the machine allow it; otherwise the reason is there.
func TestHolds(t *testing.T) {
	step := probes.MustLoad().Step("sync.pod")
	for _, x := range []struct {
		name  string
		holds Holds
		known bool
		want  probes.Reason
	}{
		{"allowed", Holds{Allowed: true}, true, probes.Reason{}},
		{"not allowed", Holds{}, true, reasons.NotAllowed.Reason()},
		{"a machine that cannot", Holds{Allowed: true, Cannot: reasons.OwnPIDs.Reason()}, true, reasons.OwnPIDs.Reason()},
		{"a machine that cannot, whoever allows it", Holds{Cannot: (&Machine{OwnPIDs: true}).NoHold()}, true, reasons.OwnPIDs.Reason()},
		{"another probe's", Holds{Allowed: true, Except: map[string]probes.Reason{step.Stage: reasons.HeldByCRI.Reason()}}, true, reasons.HeldByCRI.Reason()},
		{"of no known goroutine", Holds{Allowed: true}, false, reasons.NoBeginning.Reason()},
	} {
		var can probes.Ability
		x.holds.decide(step, x.known, &can)
		if can.NoHold.Code != x.want.Code || can.HoldEnter != x.want.IsZero() {
			t.Errorf("%s: it can be held: %v, or not because of %q", x.name, can.HoldEnter, can.NoHold.Code)
		}
	}
}

// TestOwnPIDs: only the machine's first PID namespace has the numbers that the program in the kernel reports.
func TestOwnPIDs(t *testing.T) {
	for name, want := range map[string]bool{"pid:[4026531836]": false, "pid:[4026532201]": true, "": false} {
		root := t.TempDir()
		dir := filepath.Join(root, "proc/self/ns")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if name != "" {
			if err := os.Symlink(name, filepath.Join(dir, "pid")); err != nil {
				t.Fatal(err)
			}
		}
		if got := OwnPIDs(root); got != want {
			t.Errorf("%q is another one: %v", name, got)
		}
	}
}
