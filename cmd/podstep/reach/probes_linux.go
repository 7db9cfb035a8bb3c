package reach

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/podstep/podstep/probes/kubelets"
	"golang.org/x/sys/unix"
)

// obstacle is a reason why a probe cannot see a kubelet here, and what helps.
type obstacle struct{ why, todo string }

// probeChecks say of each way of seeing steps whether it works here.
func (m *host) probeChecks(ctx context.Context, found []kubelets.Kubelet) []Check {
	checks := []Check{m.wovenProbe(found)}
	for i := range found {
		c := m.criProbe(ctx, &found[i], len(found) > 1)
		c.Pid = found[i].PID
		checks = append(checks, c)
	}
	if len(found) == 0 {
		checks = append(checks, warn("cri", "there is no kubelet to attach to", "run podstep attach on a node where one runs"))
	}
	checks = append(checks, m.delveProbe())
	return append(append(checks, m.uprobeProbes(found)...), logProbe(found))
}

// attachable returns the kubelets that podstep attach can see.
func attachable(found []kubelets.Kubelet) (out []kubelets.Kubelet) {
	for _, k := range found {
		if !k.Woven && k.Doubt == "" {
			out = append(out, k)
		}
	}
	return out
}

func (m *host) wovenProbe(found []kubelets.Kubelet) Check {
	for _, k := range found {
		if k.Woven {
			return ok("woven", "kubelet %d is woven: its own agent sees every step", k.PID)
		}
	}
	if sim := m.simulated(); len(sim) > 0 {
		return ok("woven", "no kubelet of this machine is woven, but those of simulated labs are (%s): podstep --socket DIR/agent.sock shows one, DIR being the lab's", strings.Join(sim, ", "))
	}
	return warn("woven", "no woven kubelet runs here", "run podstep-kubelet in place of the kubelet to see every step, or podstep lab to try it")
}

// simulated names the processes that are the kubelet of a simulated lab: podstep-lab component
// [--cgroup NAME] kubelet. They are none of this machine's kubelets.
func (m *host) simulated() (out []string) {
	files, _ := filepath.Glob(m.path("proc/[0-9]*/cmdline"))
	for _, file := range files {
		b, _ := os.ReadFile(file)
		args := strings.Split(string(b), "\x00")
		if len(args) < 3 || filepath.Base(args[0]) != "podstep-lab" || args[1] != "component" {
			continue
		}
		if i := slices.Index(args, "--"); i > 0 && args[i-1] == "kubelet" {
			out = append(out, "pid "+filepath.Base(filepath.Dir(file)))
		}
	}
	return out
}

// greeting is how long a runtime may take to answer at all.
const greeting = 2 * time.Second

// criProbe reports whether podstep attach can see a kubelet's calls to its runtime.
func (m *host) criProbe(ctx context.Context, k *kubelets.Kubelet, several bool) Check {
	if k.Woven {
		return ok("cri", "not needed: the woven kubelet's own agent sees these calls too")
	}
	in := m.attachObstacles()
	if len(in) == 0 {
		if c, taken := m.takenCheck(ctx, k); taken {
			return c
		}
		in = m.socketObstacles(ctx, k)
	}
	if len(in) > 0 {
		return warn("cri", "not possible now: "+whys(in), in[0].todo)
	}
	command := "podstep attach"
	if several {
		command += " --pid " + strconv.Itoa(k.PID)
	}
	return ok("cri", "possible: %s sees its calls to the runtime, and can hold them", command)
}

func whys(in []obstacle) string {
	var all []string
	for _, o := range in {
		all = append(all, o.why)
	}
	return strings.Join(all, "; ")
}

// attachObstacles are the obstacles to attaching to any kubelet of this machine.
func (m *host) attachObstacles() []obstacle {
	in := m.lacks(unix.CAP_SYS_PTRACE, unix.CAP_DAC_OVERRIDE)
	if major, minor, known := m.kernel(); known && (major < 5 || major == 5 && minor < 6) {
		in = append(in, obstacle{"this kernel cannot pass sockets of one process to another, which takes Linux 5.6", "use a newer kernel, or podstep-kubelet in place of the kubelet"})
	}
	return append(in, m.yama()...)
}

// yama checks the kernel's switch for looking into other processes. With 3 it forbids that to root, too.
func (m *host) yama() []obstacle {
	if m.line("proc/sys/kernel/yama/ptrace_scope") != "3" {
		return nil
	}
	return []obstacle{{"kernel.yama.ptrace_scope is 3, so nobody may look into other processes", "set it to 2 or less and reboot: a running kernel keeps 3"}}
}

// socketObstacles are the obstacles to taking the place of a kubelet's runtime.
func (m *host) socketObstacles(ctx context.Context, k *kubelets.Kubelet) []obstacle {
	if k.RuntimeEndpoint == "" {
		why := k.NoEndpoint
		if why == "" {
			why = "it does not speak to its runtime over a unix socket"
		}
		return []obstacle{{why, "podstep attach --probe api,kubelet needs no socket, and shows what is reported of its pods; podstep-kubelet sees every step"}}
	}
	ctx, cancel := context.WithTimeout(ctx, greeting)
	defer cancel()
	if err := m.served(k, ctx, k.RuntimeEndpoint); err != nil {
		return []obstacle{{"its runtime does not answer: " + err.Error(), "see whether the container runtime runs: crictl info asks it"}}
	}
	return nil
}

var capabilities = map[int]string{
	unix.CAP_SYS_PTRACE: "CAP_SYS_PTRACE", unix.CAP_DAC_OVERRIDE: "CAP_DAC_OVERRIDE",
	unix.CAP_BPF: "CAP_BPF", unix.CAP_PERFMON: "CAP_PERFMON",
}

// lacks names the wanted capabilities that this process does not have. In containers, root does
// not have them all.
func (m *host) lacks(wanted ...int) []obstacle {
	has := m.effective()
	var missing []string
	for _, c := range wanted {
		if has&(1<<c) == 0 {
			missing = append(missing, capabilities[c])
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if m.uid != 0 {
		return []obstacle{{fmt.Sprintf("it takes root, and this is uid %d", m.uid), "run it with sudo"}}
	}
	return []obstacle{{"this root lacks " + strings.Join(missing, " and "), "run podstep on the node itself, or in a container that is privileged and shares its processes"}}
}

// effective returns the capabilities that this process has, a bit each.
func (m *host) effective() uint64 {
	status, err := os.ReadFile(m.path("proc/self/status"))
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(status), "\n") {
		if text, found := strings.CutPrefix(line, "CapEff:"); found {
			bits, _ := strconv.ParseUint(strings.TrimSpace(text), 16, 64)
			return bits
		}
	}
	return 0
}

// kernel returns the version of Linux.
func (m *host) kernel() (major, minor int, known bool) {
	_, err := fmt.Sscanf(m.line("proc/sys/kernel/osrelease"), "%d.%d", &major, &minor)
	return major, minor, err == nil
}

// readLog is what a person does with a log that podstep attach cannot follow.
const readLog = "podstep replay FILE shows the story of a log; pass the log to it as a file"

func (m *host) delveProbe() Check {
	if in := append(m.lacks(unix.CAP_SYS_PTRACE), m.yama()...); len(in) > 0 {
		return warn("delve", "not possible now: "+whys(in), in[0].todo)
	}
	return ok("delve", "possible: podstep attach --probe delve stops the kubelet at its steps, and shows variables if it has debug information")
}

// logProbe checks whether the kubelets' logs can be followed.
func logProbe(found []kubelets.Kubelet) Check {
	where := map[string]string{
		"journal": "in the journal", "pipe": "read by another process through a pipe", "": "in no place that podstep knows",
	}
	followed := len(found) > 0
	var logs []string
	for _, k := range found {
		at, known := where[k.Log]
		if !known {
			at = "in " + k.Log
		}
		followed = followed && (!known || k.Log == "journal")
		logs = append(logs, fmt.Sprintf("kubelet %d's log is %s", k.PID, at))
	}
	switch {
	case len(logs) == 0:
		return warn("log", "there is no kubelet that writes a log", readLog)
	case !followed:
		return warn("log", "podstep attach cannot follow it: "+strings.Join(logs, ", "), readLog)
	}
	return ok("log", "possible: podstep attach --probe log,api follows it; %s", strings.Join(logs, ", "))
}
