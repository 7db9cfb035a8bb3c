package uprobe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/podstep/podstep/probes/reasons"
)

// Machine has what the probe needs to know of a machine.
type Machine struct {
	// Arch is its architecture, in Go's words. Major and Minor are the version of its Linux.
	Arch         string
	Major, Minor int
	// Capabilities are those of this process, one bit each.
	Capabilities uint64
	// Kernel is what was found out about the kernel by doing it; nil: nothing was tried.
	Kernel *Kernel
	// Uprobes: the kernel says that it has uprobes.
	Uprobes bool
	// Lockdown is what the kernel is locked down to: none, integrity or confidentiality. It is empty if the kernel
	// has no lockdown.
	Lockdown string
	// OwnPIDs: this process is in a PID namespace of its own.
	OwnPIDs bool
}

// Lack is something that the machine lacks, and what a person can do about it.
type Lack struct{ Why, Todo string }

// The capabilities that the probe needs, by their numbers in linux/capability.h.
const (
	capSysPtrace, capSysAdmin, capPerfmon, capBPF = 19, 21, 38, 39
)

// Lacks returns what is in the way of the probe on a machine.
func (m *Machine) Lacks() (all []Lack) {
	const instead = "podstep attach --probe cri,api,kubelet sees the calls to the runtime and what is reported; podstep-kubelet sees every step"
	if m.Arch != "amd64" {
		all = append(all, Lack{fmt.Sprintf("this machine is %s, and the probe reads the registers of amd64 only", m.Arch), instead})
	}
	if m.Kernel != nil {
		if err := m.Kernel.Program; err != nil && len(m.missing()) == 0 {
			all = append(all, Lack{err.Error(), "use a newer kernel; " + instead})
		}
	} else if m.Major != 0 && (m.Major < 5 || m.Major == 5 && m.Minor < 15) {
		all = append(all, Lack{fmt.Sprintf("Linux %d.%d is older than 5.15, from which on an eBPF program knows at which place it runs", m.Major, m.Minor), "use a newer kernel, unless this one's distribution has added that; " + instead})
	}
	if !m.Uprobes && m.Kernel == nil {
		all = append(all, Lack{"the kernel has no uprobes (CONFIG_UPROBE_EVENTS)", "use a kernel that has them; " + instead})
	}
	if missing := m.missing(); len(missing) > 0 {
		all = append(all, Lack{"podstep lacks " + strings.Join(missing, " and "), "run podstep as root on the node itself, or in a container that is privileged and shares its processes"})
	}
	return all
}

// missing returns the capabilities that this process lacks. CAP_SYS_ADMIN includes two of them.
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

// Remarks returns what does not stop the probe but makes a difference, and which.
func (m *Machine) Remarks() (all []string) {
	if k := m.Kernel; k != nil && k.Program == nil && k.OneLink != nil {
		all = append(all, "one link for all places of a process does not work with this kernel, so "+withoutOneLink)
	}
	if m.OwnPIDs {
		all = append(all, "no pod can be held inside the kubelet: "+reasons.OwnPIDs.Reason().Text().En)
	}
	if m.Lockdown == "confidentiality" {
		all = append(all, "the kernel is locked down to confidentiality: it may refuse the eBPF program, although that reads none of the kernel's memory")
	}
	return all
}

// explain adds to an error of the kernel what this machine lacks, which may be the reason.
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
