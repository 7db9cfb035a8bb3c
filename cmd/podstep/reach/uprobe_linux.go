package reach

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/kubelets"
	"github.com/podstep/podstep/probes/reasons"
	"github.com/podstep/podstep/probes/uprobe"
	"golang.org/x/sys/unix"
)

// uprobeProbes report for each kubelet whether podstep attach can see inside it.
func (m *host) uprobeProbes(found []kubelets.Kubelet) (checks []Check) {
	machine := m.forUprobes()
	if in := m.lacks(unix.CAP_BPF); len(in) > 0 && m.uid != 0 {
		return []Check{warn("uprobe", "not possible now: "+whys(in), in[0].todo)}
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
	return append(checks, warn("uprobe", "there is no kubelet to look into; this machine would allow it", "run podstep attach on a node where one runs"))
}

// triedKernel reports what the kernel does of the things that the probe asks of it, and what follows where it does not.
func triedKernel(k *uprobe.Kernel) (checks []Check) {
	if k == nil {
		return nil
	}
	var does []string
	for _, t := range k.Table() {
		switch {
		case !t.Missing:
			does = append(does, t.Thing)
		case t.Err != nil:
			checks = append(checks, warn("ebpf", t.Err.Error(), t.Without))
		default:
			checks = append(checks, warn("ebpf", "not tried, as the kernel lacks the above: whether it "+t.Thing, t.Without))
		}
	}
	if len(does) > 0 {
		checks = append([]Check{ok("ebpf", "tried on podstep's own process: the kernel %s", strings.Join(does, "; "))}, checks...)
	}
	return checks
}

func (m *host) uprobeProbe(machine *uprobe.Machine, k *kubelets.Kubelet) Check {
	if k.Woven {
		return ok("uprobe", "not needed: the woven kubelet's own agent shows every step")
	}
	if lacks := machine.Lacks(); len(lacks) > 0 {
		return notUprobe(lacks)
	}
	const others = "podstep attach goes on with its other probes; podstep-kubelet sees every step"
	c, err := probes.Load()
	if err != nil {
		return warn("uprobe", err.Error(), others)
	}
	p, err := uprobe.Read(c, m.path(filepath.Join("proc", strconv.Itoa(k.PID), "exe")), k.Version, 1)
	if err != nil {
		return warn("uprobe", "not possible: "+err.Error(), others)
	}
	text := fmt.Sprintf("possible: podstep attach sees %d steps inside it", p.Steps())
	remarks := machine.Remarks()
	if uprobe.Seccomp(m.root, k.PID) {
		remarks = append(remarks, "no pod can be held inside it: "+reasons.Seccomp.Reason().Text().En)
	}
	if len(remarks) > 0 {
		text += "; " + strings.Join(remarks, "; ")
	}
	return ok("uprobe", "%s", text)
}

func notUprobe(lacks []uprobe.Lack) Check {
	var why []string
	for _, l := range lacks {
		why = append(why, l.Why)
	}
	return warn("uprobe", "not possible now: "+strings.Join(why, "; "), lacks[0].Todo)
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
