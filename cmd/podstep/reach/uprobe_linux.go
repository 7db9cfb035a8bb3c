package reach

import (
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/kubelets"
	"github.com/podstep/podstep/probes/reasons"
	"github.com/podstep/podstep/probes/uprobe"
	"github.com/podstep/podstep/probes/words"
)

// uprobeProbes report for each kubelet whether podstep attach can see inside it.
func (m *host) uprobeProbes(found []kubelets.Kubelet) (checks []Check) {
	machine := m.forUprobes()
	if in := m.lacks(unix.CAP_BPF); len(in) > 0 && m.uid != 0 {
		return []Check{warn("uprobe", notNow(in), in[0].todo)}
	}
	checks = triedKernel(machine.Kernel)
	for i := range found {
		c := m.uprobeProbe(machine, &found[i])
		c.Pid = found[i].PID
		checks = append(checks, c)
	}
	if len(found) > 0 {
		return checks
	}
	if lacks := machine.Lacks(); len(lacks) > 0 {
		return append(checks, notUprobe(lacks))
	}
	return append(checks, warn("uprobe", words.Text("there is no kubelet to look into; this machine would allow it", "没有可以查看的 kubelet；本机是允许的"), attachElsewhere))
}

// triedKernel reports what the kernel does of the things that the probe asks of it, and what follows where it does not.
func triedKernel(k *uprobe.Kernel) (checks []Check) {
	if k == nil {
		return nil
	}
	var does []probes.Text
	for _, t := range k.Table() {
		switch {
		case !t.Missing:
			does = append(does, t.Thing)
		case t.Err != nil:
			checks = append(checks, warn("ebpf", words.Same(t.Err.Error()), t.Without))
		default:
			checks = append(checks, warn("ebpf", words.With(words.Text("not tried, as the kernel lacks the above: whether it %s", "没有尝试，因为内核缺少上面的功能：是否%s"), t.Thing), t.Without))
		}
	}
	if len(does) > 0 {
		checks = append([]Check{ok("ebpf", words.Text("tried on podstep's own process: the kernel %s", "已在 podstep 自己的进程上试过：内核%s"), words.Joined(semicolon, does...))}, checks...)
	}
	return checks
}

func (m *host) uprobeProbe(machine *uprobe.Machine, k *kubelets.Kubelet) Check {
	if k.Woven {
		return ok("uprobe", words.Text("not needed: the woven kubelet's own agent shows every step", "不需要：织入的 kubelet 自己的代理会显示每一步"))
	}
	if lacks := machine.Lacks(); len(lacks) > 0 {
		return notUprobe(lacks)
	}
	others := words.Text("podstep attach goes on with its other probes; podstep-kubelet sees every step", "podstep attach 会继续用其他探针；podstep-kubelet 能看到每一步")
	c, err := probes.Load()
	if err != nil {
		return warn("uprobe", words.Same(err.Error()), others)
	}
	c = c.In(k.Version)
	p, err := uprobe.Read(c, m.path(filepath.Join("proc", strconv.Itoa(k.PID), "exe")), k.Version, 1)
	if err != nil {
		return warn("uprobe", words.With(words.Text("not possible: %s", "不可行：%s"), err.Error()), others)
	}
	text := words.With(words.Text("possible: podstep attach sees %d steps inside it", "可行：podstep attach 能看到它内部的 %d 个步骤"), p.Steps(c))
	remarks := append([]probes.Text{text}, machine.Remarks()...)
	if other := p.OtherSource(); !other.IsZero() {
		remarks = append(remarks, other.Text())
	}
	if uprobe.Seccomp(m.root, k.PID) {
		remarks = append(remarks, words.With(words.Text("no pod can be held inside it: %s", "不能在它内部停住 Pod：%s"), reasons.Seccomp.Reason().Text()))
	}
	return ok("uprobe", words.Joined(semicolon, remarks...))
}

func notUprobe(lacks []uprobe.Lack) Check {
	var in []obstacle
	for _, l := range lacks {
		in = append(in, obstacle{l.Why, l.Todo})
	}
	return warn("uprobe", notNow(in), lacks[0].Todo)
}

// forUprobes returns what this machine has of the things that the uprobe probe needs.
func (m *host) forUprobes() *uprobe.Machine {
	out := &uprobe.Machine{Arch: runtime.GOARCH, Capabilities: m.effective(), Lockdown: uprobe.Lockdown(m.root), OwnPIDs: uprobe.OwnPIDs(m.root)}
	out.Major, out.Minor, _ = m.kernel()
	_, err := os.Stat(m.path("sys/bus/event_source/devices/uprobe"))
	out.Uprobes = err == nil
	if m.tryKernel != nil && len(m.lacks(unix.CAP_BPF)) == 0 {
		out.Kernel = m.tryKernel()
	}
	return out
}
