package causes

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// program returns a container as the kernel has it; nil: that is not known.
func (c *Case) program(name string) *evidence.Program {
	if c.Machine == nil {
		return nil
	}
	i := slices.IndexFunc(c.Machine.Programs, func(p evidence.Program) bool { return p.Container == name })
	if i < 0 {
		return nil
	}
	return &c.Machine.Programs[i]
}

// kernel makes an evidence of what the kernel says.
func (c *Case) kernel(where, text probes.Text) Evidence {
	return Evidence{Source: evidence.Node, Where: where, Text: text, At: c.Now}
}

// ofProcess says which process an evidence is about.
func ofProcess(p *evidence.Process) probes.Text {
	return words.With(words.Text("process %d (%s)", "进程 %d（%s）"), p.PID, p.Name)
}

// whyUnanswered finds in the kernel why a health probe of a container that runs is not answered: nobody listens on its port, or the
// CPU limit makes the program wait.
func (c *Case) whyUnanswered(k container, spec *corev1.Container, p *corev1.Probe, kind string, e *evidence.Event) (out []Finding) {
	args := probeArgs(k, kind, p)
	switch {
	case strings.Contains(e.Message, "connection refused"):
		return c.whereListens(k, spec, p, args, e)
	case !tooLate.MatchString(e.Message):
		return nil
	}
	// After ten seconds of periods of a tenth of a second, the share means something.
	const enough = 100
	if m := c.program(k.Name); m != nil && m.Periods >= enough && m.Throttled*2 >= m.Periods {
		limit := spec.Resources.Limits[corev1.ResourceCPU]
		args["share"], args["limit"] = decimal(m.Throttled*100/m.Periods)+" %", limit.String()
		out = append(out, c.found("ready.throttled", k.Name, args, Likely, e.First, c.event(e), c.kernel(words.Text("cgroup, cpu.stat", "cgroup 的 cpu.stat"),
			words.With(words.Text("throttled in %d of %d periods", "%d/%d 个周期被限流"), m.Throttled, m.Periods))))
	}
	return out
}

// whereListens compares the port of a probe that is refused with those at which the pod listens.
func (c *Case) whereListens(k container, spec *corev1.Container, p *corev1.Probe, args Args, e *evidence.Event) []Finding {
	port, ok := portNumber(spec, p)
	if !ok || c.Machine == nil || len(c.Machine.Listens) == 0 {
		return nil
	}
	var all []string
	id := "ready.listensElsewhere"
	for _, l := range c.Machine.Listens {
		switch {
		case l.Port == port && !l.Loopback:
			return nil // by now it does
		case l.Port == port:
			id = "ready.listensOnLoopback"
		}
		all = append(all, listenText(l))
	}
	args["listens"] = strings.Join(all, ", ")
	return []Finding{c.found(id, k.Name, args, Certain, e.First, c.event(e),
		c.kernel(words.Text("sockets of the pod", "Pod 的套接字"), words.With(words.Text("listening: %s", "正在监听：%s"), args["listens"])))}
}

func listenText(l evidence.Listen) string {
	if l.Loopback {
		return "127.0.0.1:" + decimal(int(l.Port))
	}
	return decimal(int(l.Port))
}

// portNumber returns the port of the pod that a probe asks. ok is false if it asks another host, or no port.
func portNumber(spec *corev1.Container, p *corev1.Probe) (n uint16, ok bool) {
	if p.HTTPGet != nil && p.HTTPGet.Host != "" || p.TCPSocket != nil && p.TCPSocket.Host != "" {
		return 0, false
	}
	port := intstr.Parse(portOf(p))
	number := port.IntValue()
	if port.Type == intstr.String {
		i := slices.IndexFunc(spec.Ports, func(o corev1.ContainerPort) bool { return o.Name == port.StrVal })
		if i < 0 {
			return 0, false
		}
		number = int(spec.Ports[i].ContainerPort)
	}
	return uint16(number), number > 0 && number < 1<<16
}

// childrenKilled finds containers that run without being ready, and of which the kernel has killed a process for want of memory. The
// container lives on if that was not process 1.
func childrenKilled(c *Case) (out []Finding) {
	for _, k := range c.containers() {
		m := c.program(k.Name)
		if m == nil || m.OOMKills == 0 || k.State.Running == nil || k.Ready {
			continue
		}
		args := c.containerArgs(k, "", "")
		args["kills"], args["limit"] = strconv.Itoa(m.OOMKills), "0"
		if spec := c.specOf(k.Name); spec != nil && !spec.Resources.Limits.Memory().IsZero() {
			args["limit"] = spec.Resources.Limits.Memory().String()
		}
		out = append(out, c.found("ready.childKilled", k.Name, args, Likely, k.State.Running.StartedAt.Time,
			c.kernel(words.Text("cgroup, memory.events", "cgroup 的 memory.events"), words.With(words.Text("oom_kill %d", "oom_kill %d"), m.OOMKills)),
			c.status(ofContainer(k.Name), words.Text("runs, and is not ready", "在运行，但未就绪"), c.Now)))
	}
	return out
}

// stoppedProcesses finds processes between the kubelet and the containers that somebody has stopped: no call that needs them returns.
// A debugger stops a process for a moment, too.
func stoppedProcesses(c *Case) (out []Finding) {
	if c.Machine == nil {
		return nil
	}
	stopped := func(p *evidence.Process, part probes.Text) {
		if p == nil || p.State != "T" && p.State != "t" {
			return
		}
		sure := Certain
		if p.State == "t" {
			sure = Likely
		}
		args := Args{"process": p.Name, "pid": decimal(p.PID), "state": p.State, "part": part.En, "partZh": part.Zh}
		out = append(out, c.found("general.processStopped", args["pid"], args, sure, c.Now, c.kernel(ofProcess(p), words.With(words.Text("state %s", "状态 %s"), p.State))))
	}
	stopped(c.Machine.Runtime, words.Text("the container runtime", "容器运行时"))
	for i := range c.Machine.Programs {
		p := &c.Machine.Programs[i]
		stopped(p.Shim, words.With(words.Text("the shim of container %s", "容器 %s 的 shim"), p.Container))
	}
	return out
}
