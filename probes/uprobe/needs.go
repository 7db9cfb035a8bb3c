package uprobe

import (
	"fmt"
	"slices"
	"strings"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
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
type Lack struct{ Why, Todo probes.Text }

// The capabilities that the probe needs, by their numbers in linux/capability.h.
const (
	capSysPtrace, capSysAdmin, capPerfmon, capBPF = 19, 21, 38, 39
)

// Lacks returns what is in the way of the probe on a machine.
func (m *Machine) Lacks() (all []Lack) {
	instead := words.Text("podstep attach --probe cri,api,kubelet sees the calls to the runtime and what is reported; podstep-kubelet sees every step", "podstep attach --probe cri,api,kubelet 能看到对运行时的调用和报告；podstep-kubelet 能看到每一步")
	if m.Arch != "amd64" && m.Arch != "arm64" {
		all = append(all, Lack{words.With(words.Text("this machine is %s, and the probe reads the registers of amd64 and arm64 only", "本机是 %s，而这个探针只会读 amd64 和 arm64 的寄存器"), m.Arch), instead})
	}
	if m.Kernel != nil {
		if err := m.Kernel.Program; err != nil && len(m.missing()) == 0 {
			all = append(all, Lack{words.Same(err.Error()), words.With(words.Text("use a newer kernel; %s", "换更新的内核；%s"), instead)})
		}
	} else if m.Major != 0 && (m.Major < 5 || m.Major == 5 && m.Minor < 15) {
		all = append(all, Lack{
			words.With(words.Text("Linux %d.%d is older than 5.15, from which on an eBPF program knows at which place it runs", "Linux %d.%d 早于 5.15；从 5.15 起 eBPF 程序才知道自己在哪一处运行"), m.Major, m.Minor),
			words.With(words.Text("use a newer kernel, unless this one's distribution has added that; %s", "换更新的内核，除非发行版已经移植了这个功能；%s"), instead),
		})
	}
	if !m.Uprobes && m.Kernel == nil {
		all = append(all, Lack{words.Text("the kernel has no uprobes (CONFIG_UPROBE_EVENTS)", "内核没有 uprobe（CONFIG_UPROBE_EVENTS）"), words.With(words.Text("use a kernel that has them; %s", "换有 uprobe 的内核；%s"), instead)})
	}
	if missing := m.missing(); len(missing) > 0 {
		all = append(all, Lack{
			words.With(words.Text("podstep lacks %s", "podstep 缺少 %s"), words.Text(strings.Join(missing, " and "), strings.Join(missing, "、"))),
			words.Text("run podstep as root on the node itself, or in a container that is privileged and shares its processes", "在节点上以 root 运行 podstep，或在与节点共享进程的特权容器里运行"),
		})
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

// lockedDown is a remark about a kernel's lockdown.
var lockedDown = words.Text("the kernel is locked down to confidentiality: it may refuse the eBPF program, although that reads none of the kernel's memory", "内核处于 confidentiality 锁定：它可能拒绝 eBPF 程序，尽管该程序不读内核内存")

// Remarks returns what does not stop the probe but makes a difference, and which.
func (m *Machine) Remarks() (all []probes.Text) {
	if k := m.Kernel; k != nil && k.Program == nil && k.OneLink != nil {
		all = append(all, words.With(words.Text("one link for all places of a process does not work with this kernel, so %s", "一个链接用于进程的所有位置在这个内核上不可行，所以%s"), withoutOneLink))
	}
	if noHold := m.NoHold(); !noHold.IsZero() {
		all = append(all, words.With(words.Text("no pod can be held inside the kubelet: %s", "不能在 kubelet 内部停住 Pod：%s"), noHold.Text()))
	}
	if m.Lockdown == "confidentiality" {
		all = append(all, lockedDown)
	}
	return all
}

// explain adds to an error of the kernel what this machine lacks, which may be the reason.
func (m *Machine) explain(err error) error {
	var why []string
	for _, l := range m.Lacks() {
		why = append(why, l.Why.En)
	}
	if slices.Contains(m.Remarks(), lockedDown) {
		why = append(why, lockedDown.En)
	}
	if len(why) == 0 {
		return err
	}
	return fmt.Errorf("%w; %s", err, strings.Join(why, "; "))
}
