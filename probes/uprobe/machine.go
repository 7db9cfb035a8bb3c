//go:build linux

package uprobe

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// here is this machine, as far as it can be seen.
func here() *Machine {
	m := &Machine{Arch: runtime.GOARCH, Lockdown: Lockdown("/")}
	var name unix.Utsname
	if err := unix.Uname(&name); err == nil {
		_, _ = fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &m.Major, &m.Minor)
	}
	var data [2]unix.CapUserData
	if err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &data[0]); err == nil {
		m.Capabilities = uint64(data[1].Effective)<<32 | uint64(data[0].Effective)
	}
	_, err := os.Stat("/sys/bus/event_source/devices/uprobe")
	m.Uprobes = err == nil
	return m
}

// Lockdown is what the kernel is locked down to, of a machine whose files are below root.
// The word in brackets is the one that is so.
func Lockdown(root string) string {
	b, _ := os.ReadFile(root + "/sys/kernel/security/lockdown")
	_, rest, _ := strings.Cut(string(b), "[")
	word, _, _ := strings.Cut(rest, "]")
	return word
}
