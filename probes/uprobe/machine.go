//go:build linux

package uprobe

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// here returns this machine, as far as it can be seen.
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
	m.OwnPIDs = OwnPIDs("/")
	return m
}

// firstPIDs is the first PID namespace of every machine, as /proc/PID/ns/pid shows it.
const firstPIDs = "pid:[4026531836]"

// OwnPIDs reports whether this process is in another PID namespace than the machine's first one. The program in the
// kernel reports the numbers that threads have in the first. root has the machine's files.
func OwnPIDs(root string) bool {
	name, err := os.Readlink(root + "/proc/self/ns/pid")
	return err == nil && name != firstPIDs
}

// Lockdown returns what the kernel of a machine is locked down to. root has the machine's files. In the kernel's list
// the word in brackets is the current one.
func Lockdown(root string) string {
	b, _ := os.ReadFile(root + "/sys/kernel/security/lockdown")
	_, rest, _ := strings.Cut(string(b), "[")
	word, _, _ := strings.Cut(rest, "]")
	return word
}
