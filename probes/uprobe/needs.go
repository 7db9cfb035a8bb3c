package uprobe

import (
	"fmt"
	"slices"
	"strings"
)

// Machine is what a machine has of what the probe needs.
type Machine struct {
	// Arch is its architecture, in Go's words, and Major and Minor the version of its Linux.
	Arch         string
	Major, Minor int
	// Capabilities are those of this process, a bit each.
	Capabilities uint64
	// Uprobes: the kernel has them.
	Uprobes bool
	// Lockdown is what the kernel is locked down to: none, integrity or confidentiality;
	// empty: it cannot be.
	Lockdown string
}

// Lack is something that a machine does not have, and what helps.
type Lack struct{ Why, Todo string }

// The capabilities that the probe takes, by number, as linux/capability.h has them.
const (
	capSysPtrace, capSysAdmin, capPerfmon, capBPF = 19, 21, 38, 39
)

// Lacks are what is in the way of the probe on a machine.
func (m *Machine) Lacks() (all []Lack) {
	const instead = "podstep attach --probe cri,api,kubelet sees the calls to the runtime and what is reported; podstep-kubelet sees every step"
	if m.Arch != "amd64" {
		all = append(all, Lack{fmt.Sprintf("this machine is %s, and the probe reads the registers of amd64 only", m.Arch), instead})
	}
	if m.Major != 0 && (m.Major < 5 || m.Major == 5 && m.Minor < 15) {
		all = append(all, Lack{fmt.Sprintf("Linux %d.%d is older than 5.15, from which on an eBPF program knows at which place it runs", m.Major, m.Minor), "use a newer kernel, unless this one's distribution has added that; " + instead})
	}
	if !m.Uprobes {
		all = append(all, Lack{"the kernel has no uprobes (CONFIG_UPROBE_EVENTS)", "use a kernel that has them; " + instead})
	}
	if missing := m.missing(); len(missing) > 0 {
		all = append(all, Lack{"podstep lacks " + strings.Join(missing, " and "), "run podstep as root on the node itself, or in a container that is privileged and shares its processes"})
	}
	return all
}

// missing are the capabilities that this process lacks. CAP_SYS_ADMIN has two of them in it.
func (m *Machine) missing() (names []string) {
	has := func(c int) bool { return m.Capabilities&(1<<c) != 0 }
	for _, c := range []struct {
		name string
		has  bool
	}{{"CAP_BPF", has(capBPF) || has(capSysAdmin)}, {"CAP_PERFMON", has(capPerfmon) || has(capSysAdmin)}, {"CAP_SYS_PTRACE", has(capSysPtrace)}} {
		if !c.has {
			names = append(names, c.name)
		}
	}
	return names
}

// Remarks are what does not stop the probe, and what it makes a difference for.
func (m *Machine) Remarks() (all []string) {
	if m.Major < 6 || m.Major == 6 && m.Minor < 6 {
		all = append(all, "before Linux 6.6 attaching and detaching take longer, as each place has a link of its own")
	}
	if m.Lockdown == "confidentiality" {
		all = append(all, "the kernel is locked down to confidentiality: it may refuse the eBPF program, although that reads none of the kernel's memory")
	}
	return all
}

// explain adds to an error of the kernel what this machine lacks, which may be why.
func (m *Machine) explain(err error) error {
	var why []string
	for _, l := range m.Lacks() {
		why = append(why, l.Why)
	}
	why = append(why, slices.DeleteFunc(m.Remarks(), func(r string) bool { return !strings.Contains(r, "locked down") })...)
	if len(why) == 0 {
		return err
	}
	return fmt.Errorf("%w; %s", err, strings.Join(why, "; "))
}
