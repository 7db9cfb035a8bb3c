package causes

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/probes/words"
)

// newContainer is how long a container that has never been ready may refuse its health
// probes before that is worth a word: programs take time to start.
const newContainer = 30 * time.Second

// failingProbes finds the readiness and startup probes that keep running containers from being ready.
func failingProbes(c *Case) (out []Finding) {
	for _, k := range c.containers() {
		spec := c.specOf(k.Name)
		if k.State.Running == nil || k.Ready || spec == nil {
			continue
		}
		started := k.State.Running.StartedAt.Time
		if spec.StartupProbe != nil && (k.Started == nil || !*k.Started) {
			out = append(out, c.startupFails(k, spec, started)...)
			continue
		}
		if spec.ReadinessProbe != nil {
			out = append(out, c.readinessFails(k, spec, started)...)
		}
	}
	return out
}

// probeArgs returns the arguments of a health probe.
func probeArgs(k container, kind string, p *corev1.Probe) Args {
	seconds := func(n int32) string { return words.Took(time.Duration(max(n, 1)) * time.Second) }
	return Args{
		"container": k.Name, "image": k.Image, "probe": kind, "restarts": strconv.Itoa(int(k.RestartCount)),
		"period": seconds(p.PeriodSeconds), "timeout": seconds(p.TimeoutSeconds), "threshold": strconv.Itoa(int(max(p.FailureThreshold, 1))),
		"budget": words.Took(kubeapi.ProbeBudget(p)), "port": portOf(p),
	}
}

// portOf returns the port that a probe asks, as its definition has it.
func portOf(p *corev1.Probe) string {
	switch {
	case p.HTTPGet != nil:
		return p.HTTPGet.Port.String()
	case p.TCPSocket != nil:
		return p.TCPSocket.Port.String()
	case p.GRPC != nil:
		return strconv.Itoa(int(p.GRPC.Port))
	}
	return ""
}

// unhealthy returns the newest event of a container's failing probe, not older than since.
func (c *Case) unhealthy(name, kind string, since time.Time) *evidence.Event {
	for i := len(c.Cluster.Events) - 1; i >= 0; i-- {
		e := &c.Cluster.Events[i]
		if e.Reason == "Unhealthy" && c.ofPod(e) && containerOfPath(e.FieldPath) == name && strings.HasPrefix(e.Message, kind+" probe") &&
			!e.Last.Before(since.Add(-slack)) && c.Now.Sub(e.Last) <= freshEvent {
			return e
		}
	}
	return nil
}

// readinessFails finds why a container that runs is not ready.
func (c *Case) readinessFails(k container, spec *corev1.Container, started time.Time) []Finding {
	p := spec.ReadinessProbe
	args := probeArgs(k, "readiness", p)
	age, before := c.Now.Sub(started), c.wasReady(started)
	if !before && age < time.Duration(p.InitialDelaySeconds)*time.Second+max(newContainer, kubeapi.ProbeBudget(p)) {
		return nil
	}
	notReady := c.status(ofContainer(k.Name), words.Text("runs, has started and is not ready", "在运行，已启动，但未就绪"), c.Now)
	e := c.unhealthy(k.Name, "Readiness", started)
	if e == nil {
		if !before && age < kubeapi.ProbeBudget(p)+2*newContainer {
			return nil
		}
		return []Finding{c.found("ready.probeFails", k.Name, args, Likely, started, notReady)}
	}
	id := c.probeCause(e.Message, p, args)
	out := []Finding{c.found(id, k.Name, args, Certain, e.First, c.event(e), notReady)}
	if wrong := c.wrongPort(k, spec, p, "readiness", e); wrong != nil {
		out = append(out, *wrong)
	}
	return append(out, c.whyUnanswered(k, spec, p, "readiness", e)...)
}

var (
	statusCode = regexp.MustCompile(`statuscode: (\d+)`)
	tooLate    = regexp.MustCompile(`(?i)timed out|i/o timeout|deadline exceeded|request canceled|within \S+$`)
	errored    = regexp.MustCompile(`probe errored[^:]*: (.*)`)
)

// probeCause returns the id of the cause that a readiness probe's message shows, and sets the
// cause's arguments.
func (c *Case) probeCause(message string, p *corev1.Probe, args Args) string {
	if m := errored.FindStringSubmatch(message); m != nil {
		args["message"] = m[1]
		return "ready.probeErrored"
	}
	if m := statusCode.FindStringSubmatch(message); m != nil {
		args["code"] = m[1]
		return "ready.probeStatus"
	}
	switch {
	case strings.Contains(message, "connection refused"):
		return "ready.probeRefused"
	case tooLate.MatchString(message):
		return "ready.probeTimeout"
	case p.Exec != nil:
		args["program"] = strings.Join(p.Exec.Command, " ")
		return "ready.probeExec"
	}
	return "ready.probeFails"
}

// wrongPort finds a probe that asks a port which its container does not declare and does not
// answer on. It is nil if that is not so, or if the container declares no port.
func (c *Case) wrongPort(k container, spec *corev1.Container, p *corev1.Probe, kind string, e *evidence.Event) *Finding {
	port := portOf(p)
	if port == "" || len(spec.Ports) == 0 || hasPort(spec, port) || !strings.Contains(e.Message, "connection refused") && !strings.Contains(e.Message, "errored") {
		return nil
	}
	args := probeArgs(k, kind, p)
	var have []string
	for _, o := range spec.Ports {
		have = append(have, strings.TrimPrefix(o.Name+"="+strconv.Itoa(int(o.ContainerPort)), "="))
	}
	args["ports"] = strings.Join(have, ", ")
	f := c.found("ready.probePort", k.Name, args, Certain, e.First, c.event(e),
		c.status(ofContainer(k.Name), words.With(words.Text("probe asks %s, ports are %s", "探针询问 %s，端口有 %s"), port, args["ports"]), c.Now))
	return &f
}

// hasPort reports whether a container declares a port, by number or by name. A port that the
// probe gives by its name must be declared with that name.
func hasPort(spec *corev1.Container, port string) bool {
	want := intstr.Parse(port)
	return slices.ContainsFunc(spec.Ports, func(o corev1.ContainerPort) bool {
		return want.Type == intstr.String && o.Name == want.StrVal || want.Type == intstr.Int && o.ContainerPort == want.IntVal
	})
}

// startupFails finds why a container does not count as started. It does so when more than half
// of the time that the probe gives is over.
func (c *Case) startupFails(k container, spec *corev1.Container, started time.Time) []Finding {
	p := spec.StartupProbe
	age, all := c.Now.Sub(started), kubeapi.ProbeBudget(p)
	e := c.unhealthy(k.Name, "Startup", started)
	if e == nil || age < max(newContainer, all/2) {
		return nil
	}
	args := probeArgs(k, "startup", p)
	args["left"] = words.Took(max(0, all-age))
	args["took"] = words.Took(age)
	out := []Finding{c.found("ready.startupFails", k.Name, args, Certain, started, c.event(e), c.status(ofContainer(k.Name), words.Text("runs and does not count as started", "在运行，但还不算已启动"), c.Now))}
	if wrong := c.wrongPort(k, spec, p, "startup", e); wrong != nil {
		out = append(out, *wrong)
	}
	return append(out, c.whyUnanswered(k, spec, p, "startup", e)...)
}
