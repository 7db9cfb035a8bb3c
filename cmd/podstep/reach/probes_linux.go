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

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/delve"
	"github.com/podstep/podstep/probes/kubelets"
	"github.com/podstep/podstep/probes/words"
)

// obstacle is a reason why a probe cannot see a kubelet here, and what helps.
type obstacle struct{ why, todo probes.Text }

// probeChecks say of each way of seeing steps whether it works here.
func (m *host) probeChecks(ctx context.Context, found []kubelets.Kubelet) []Check {
	checks := []Check{m.wovenProbe(found)}
	for i := range found {
		c := m.criProbe(ctx, &found[i], len(found) > 1)
		c.Pid = found[i].PID
		checks = append(checks, c)
	}
	if len(found) == 0 {
		checks = append(checks, warn("cri", words.Text("there is no kubelet to attach to", "没有可以附加的 kubelet"), attachElsewhere))
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
			return ok("woven", words.Text("kubelet %d is woven: its own agent sees every step", "kubelet %d 已织入：它自己的代理能看到每一步"), k.PID)
		}
	}
	if sim := m.simulated(); len(sim) > 0 {
		return ok("woven", words.Text("no kubelet of this machine is woven, but those of simulated labs are (%s): podstep --socket DIR/agent.sock shows one, DIR being the lab's", "本机的 kubelet 都没有织入，但模拟实验环境里的织入了（%s）：podstep --socket DIR/agent.sock 可以查看，DIR 是实验环境的目录"), strings.Join(sim, ", "))
	}
	return warn("woven", words.Text("no woven kubelet runs here", "这里没有运行织入的 kubelet"), words.Text("run podstep-kubelet in place of the kubelet to see every step, or podstep lab to try it", "用 podstep-kubelet 代替 kubelet 可以看到每一步，或用 podstep lab 试一试"))
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
		return ok("cri", words.Text("not needed: the woven kubelet's own agent sees these calls too", "不需要：织入的 kubelet 自己的代理也能看到这些调用"))
	}
	in := m.attachObstacles()
	if len(in) == 0 {
		if c, taken := m.takenCheck(ctx, k); taken {
			return c
		}
		in = m.socketObstacles(ctx, k)
	}
	if len(in) > 0 {
		return warn("cri", notNow(in), in[0].todo)
	}
	command := "podstep attach"
	if several {
		command += " --pid " + strconv.Itoa(k.PID)
	}
	return ok("cri", words.Text("possible: %s sees its calls to the runtime, and can hold them", "可行：%s 能看到它对运行时的调用，也能停住它们"), command)
}

// attachElsewhere is what to do where no kubelet runs.
var attachElsewhere = words.Text("run podstep attach on a node where one runs", "在运行 kubelet 的节点上运行 podstep attach")

// notNow says that something is not possible, and why.
func notNow(in []obstacle) probes.Text {
	var all []probes.Text
	for _, o := range in {
		all = append(all, o.why)
	}
	return words.With(words.Text("not possible now: %s", "现在不可行：%s"), words.Joined(semicolon, all...))
}

// attachObstacles are the obstacles to attaching to any kubelet of this machine.
func (m *host) attachObstacles() []obstacle {
	in := m.lacks(unix.CAP_SYS_PTRACE, unix.CAP_DAC_OVERRIDE)
	if major, minor, known := m.kernel(); known && (major < 5 || major == 5 && minor < 6) {
		in = append(in, obstacle{
			words.Text("this kernel cannot pass sockets of one process to another, which takes Linux 5.6", "这个内核不能把一个进程的套接字交给另一个进程，这需要 Linux 5.6"),
			words.Text("use a newer kernel, or podstep-kubelet in place of the kubelet", "换更新的内核，或用 podstep-kubelet 代替 kubelet"),
		})
	}
	return append(in, m.yama()...)
}

// yama checks the kernel's switch for looking into other processes. With 3 it forbids that to root, too.
func (m *host) yama() []obstacle {
	if m.line("proc/sys/kernel/yama/ptrace_scope") != "3" {
		return nil
	}
	return []obstacle{{
		words.Text("kernel.yama.ptrace_scope is 3, so nobody may look into other processes", "kernel.yama.ptrace_scope 是 3，谁都不能查看其他进程"),
		words.Text("set it to 2 or less and reboot: a running kernel keeps 3", "把它设为 2 或更小并重启：运行中的内核会保持 3"),
	}}
}

// socketObstacles are the obstacles to taking the place of a kubelet's runtime.
func (m *host) socketObstacles(ctx context.Context, k *kubelets.Kubelet) []obstacle {
	if k.RuntimeEndpoint == "" {
		why := words.Same(k.NoEndpoint)
		if k.NoEndpoint == "" {
			why = words.Text("it does not speak to its runtime over a unix socket", "它不通过 unix 套接字与运行时通信")
		}
		return []obstacle{{why, words.Text("podstep attach --probe api,kubelet needs no socket, and shows what is reported of its pods; podstep-kubelet sees every step", "podstep attach --probe api,kubelet 不需要套接字，能显示关于 Pod 的报告；podstep-kubelet 能看到每一步")}}
	}
	ctx, cancel := context.WithTimeout(ctx, greeting)
	defer cancel()
	if err := m.served(k, ctx, k.RuntimeEndpoint); err != nil {
		return []obstacle{{
			words.With(words.Text("its runtime does not answer: %s", "它的运行时没有应答：%s"), err.Error()),
			words.Text("see whether the container runtime runs: crictl info asks it", "看看容器运行时是否在运行：crictl info 会询问它"),
		}}
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
		return []obstacle{{words.With(words.Text("it takes root, and this is uid %d", "这需要 root，而当前是 uid %d"), m.uid), words.Text("run it with sudo", "用 sudo 运行")}}
	}
	return []obstacle{{
		words.With(words.Text("this root lacks %s", "这个 root 缺少 %s"), words.Joined(words.Text(" and ", " 和 "), same(missing)...)),
		words.Text("run podstep on the node itself, or in a container that is privileged and shares its processes", "在节点上直接运行 podstep，或在与节点共享进程的特权容器里运行"),
	}}
}

func same(all []string) (out []probes.Text) {
	for _, s := range all {
		out = append(out, words.Same(s))
	}
	return out
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
var readLog = words.Text("podstep replay FILE shows the story of a log; pass the log to it as a file", "podstep replay FILE 能由日志还原过程；请把日志作为文件交给它")

func (m *host) delveProbe() Check {
	if err := delve.Unsupported; err != nil {
		return warn("delve", words.With(words.Text("not possible: %s", "不可行：%s"), err.Error()), words.Text("podstep attach goes on with its other probes", "podstep attach 会继续用其他探针"))
	}
	if in := append(m.lacks(unix.CAP_SYS_PTRACE), m.yama()...); len(in) > 0 {
		return warn("delve", notNow(in), in[0].todo)
	}
	return ok("delve", words.Text("possible: podstep attach --probe delve stops the kubelet at its steps, and shows variables if it has debug information", "可行：podstep attach --probe delve 让 kubelet 在各步骤处停下；它有调试信息时还能显示变量"))
}

// logProbe checks whether the kubelets' logs can be followed.
func logProbe(found []kubelets.Kubelet) Check {
	where := map[string]probes.Text{
		"journal": words.Text("in the journal", "在 journal 里"), "pipe": words.Text("read by another process through a pipe", "由另一个进程通过管道读取"),
		"": words.Text("in no place that podstep knows", "在 podstep 不知道的地方"),
	}
	followed := len(found) > 0
	var logs []probes.Text
	for _, k := range found {
		at, known := where[k.Log]
		if !known {
			at = words.With(words.Text("in %s", "在 %s"), k.Log)
		}
		followed = followed && (!known || k.Log == "journal")
		logs = append(logs, words.With(words.Text("kubelet %d's log is %s", "kubelet %d 的日志%s"), k.PID, at))
	}
	switch {
	case len(logs) == 0:
		return warn("log", words.Text("there is no kubelet that writes a log", "没有写日志的 kubelet"), readLog)
	case !followed:
		return warn("log", words.With(words.Text("podstep attach cannot follow it: %s", "podstep attach 无法跟踪它：%s"), words.Joined(comma, logs...)), readLog)
	}
	return ok("log", words.Text("possible: podstep attach --probe log,api follows it; %s", "可行：podstep attach --probe log,api 会跟踪它；%s"), words.Joined(comma, logs...))
}
