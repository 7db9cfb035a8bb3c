//go:build vm

package vm_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/podstep/podstep/agent/labtest"
)

// arch is an architecture of machines, by what differs between them.
type arch struct {
	name    string            // as Go and Debian have it
	qemu    []string          // QEMU's program, and the machine that it emulates
	console string            // the serial port, as the kernel names it
	bin     string            // the directory of the machine's programs, in that of this machine's
	doctor  string            // matches the line of podstep doctor about the uprobe probe
	refused map[string]string // what podstep attach prints, by the probe that it refuses for the architecture
}

var archs = map[string]arch{
	"amd64": {
		name: "amd64", console: "ttyS0", bin: ".",
		qemu:   []string{"qemu-system-x86_64", "-cpu", "max,la57=off"},
		doctor: `ok +uprobe \d+ +possible.* each place has a link of its own`,
	},
	"arm64": {
		name: "arm64", console: "ttyAMA0", bin: "arm64",
		// Of later processors the kernel uses pointer authentication, which takes an emulator long.
		qemu:    []string{"qemu-system-aarch64", "-machine", "virt", "-cpu", "cortex-a72"},
		doctor:  `ok +uprobe \d+ +possible.* each place has a link of its own`,
		refused: map[string]string{"delve": "through Delve podstep reads the registers of amd64 only, and this machine is arm64"},
	},
}

// machineArch returns the architecture of the machine that scripts/vm.sh made.
func machineArch(tb testing.TB) arch {
	tb.Helper()
	name := os.Getenv("PODSTEP_VM_ARCH")
	if name == "" {
		name = "amd64"
	}
	a, ok := archs[name]
	if !ok {
		tb.Fatalf("PODSTEP_VM_ARCH is %q, and there are machines of amd64 and arm64", name)
	}
	return a
}

// program returns the path of a program, built for the machine.
func (a arch) program(tb testing.TB, name string) string {
	tb.Helper()
	return labtest.Bin(tb, filepath.Join(a.bin, name))
}
