package causes

import (
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/probes/words"
)

// probeRestarts finds the containers that the kubelet restarts for their probes.
func probeRestarts(c *Case) (out []Finding) {
	for _, k := range c.containers() {
		t := k.LastTerminationState.Terminated
		if k.State.Terminated != nil && k.RestartCount > 0 {
			t = k.State.Terminated
		}
		if k.RestartCount == 0 || c.specOf(k.Name) == nil || t == nil || c.Phase == Ready && k.RestartCount < 2 {
			continue
		}
		if kill := c.probeKill(k, t); kill != nil {
			out = append(out, c.found(kill.id, k.Name, probeArgs(k, kill.kind, kill.probe), kill.sure, kill.since, kill.shown...))
		}
	}
	return out
}

// probeKill is the end of a container by the kubelet, for a health probe that failed.
type probeKill struct {
	id, kind string
	probe    *corev1.Probe
	sure     Confidence
	since    time.Time
	shown    []Evidence
}

// probeKill returns for which health probe the kubelet ended a container's last run; nil: for none. The kubelet sends the
// fewer events, the more it has sent, and they do not live for long. So a run without an event of its own is judged by the
// events of earlier runs, and by whether its length and its exit code are those that the probe leads to.
func (c *Case) probeKill(k container, t *corev1.ContainerStateTerminated) *probeKill {
	spec := c.specOf(k.Name)
	if spec == nil || t.Reason == "OOMKilled" {
		return nil
	}
	for _, kill := range killingProbes(spec) {
		killing := c.killingFor(k.Name, kill.kind)
		unhealthy := c.unhealthyIn(k.Name, kill.kind, t)
		kill.since = c.failsSince(&k)
		switch {
		case killing != nil && c.endsRun(killing, t, kill.probe):
			kill.sure, kill.shown = Certain, []Evidence{c.event(killing)}
		case signalled[t.ExitCode] && (killing != nil || unhealthy != nil || kill.kind == "liveness") && kill.fits(t, c.stopTime(kill.probe)):
			kill.sure = Likely
			if killing != nil {
				kill.shown = append(kill.shown, c.event(killing))
			}
		default:
			continue
		}
		if unhealthy != nil {
			kill.shown = append(kill.shown, c.event(unhealthy))
		}
		kill.shown = append(kill.shown, c.ended(k, t))
		if kill.sure != Certain {
			long := words.With(words.Text("ran for %s, as its %s probe allows", "运行了 %s，正是它的 %s 探针所允许的"), words.Took(ran(t)), kill.kind)
			kill.shown = append(kill.shown, c.status(ofContainer(k.Name), long, t.FinishedAt.Time))
		}
		return &kill
	}
	return nil
}

// killingProbes returns the health probes of a container for which the kubelet kills it.
func killingProbes(spec *corev1.Container) []probeKill {
	all := []probeKill{
		{id: "ready.livenessRestarts", kind: "liveness", probe: spec.LivenessProbe},
		{id: "ready.startupRestarts", kind: "startup", probe: spec.StartupProbe},
	}
	return slices.DeleteFunc(all, func(p probeKill) bool { return p.probe == nil })
}

// probeMayKill reports whether a run of a container was as long as one that a health probe ends.
func (c *Case) probeMayKill(k container, t *corev1.ContainerStateTerminated) bool {
	spec := c.specOf(k.Name)
	return spec != nil && slices.ContainsFunc(killingProbes(spec), func(p probeKill) bool { return p.fits(t, c.stopTime(p.probe)) })
}

// signalled are the exit codes of a container that the kubelet ends: by SIGTERM, and by SIGKILL after its grace period.
var signalled = map[int32]bool{143: true, 137: true}

// fits reports whether a run was as long as one that the probe ends: it lasts until the probe has failed often enough,
// and may begin to fail late only if it passed before.
func (p *probeKill) fits(t *corev1.ContainerStateTerminated, stopTime time.Duration) bool {
	took, least := ran(t), kubeapi.ProbeBudget(p.probe)
	period := time.Duration(max(p.probe.PeriodSeconds, 1)) * time.Second
	return took >= least-period-slack && took <= least+period+stopTime
}

// probeKilling matches what the kubelet says when it kills a container for a probe.
var probeKilling = regexp.MustCompile(`^Container (\S+) failed (liveness|startup) probe`)

// killingFor returns the last event that says that the kubelet kills a container for a kind of probe; nil: there is none.
func (c *Case) killingFor(name, kind string) *evidence.Event {
	for i := len(c.Cluster.Events) - 1; i >= 0; i-- {
		e := &c.Cluster.Events[i]
		m := probeKilling.FindStringSubmatch(e.Message)
		if e.Reason == "Killing" && m != nil && m[1] == name && m[2] == kind && c.ofPod(e) {
			return e
		}
	}
	return nil
}

// endsRun reports whether an event is about the end of a run: the container stopped soon after it.
func (c *Case) endsRun(e *evidence.Event, t *corev1.ContainerStateTerminated, p *corev1.Probe) bool {
	ended := t.FinishedAt.Time
	return !ended.Before(e.Last.Add(-slack)) && !ended.After(e.Last.Add(c.stopTime(p)))
}

// unhealthyIn returns the last event of a probe of a kind that failed in a run of a container; nil: there is none.
func (c *Case) unhealthyIn(name, kind string, t *corev1.ContainerStateTerminated) *evidence.Event {
	first := strings.ToUpper(kind[:1]) + kind[1:] + " probe"
	for i := len(c.Cluster.Events) - 1; i >= 0; i-- {
		e := &c.Cluster.Events[i]
		if e.Reason == "Unhealthy" && c.ofPod(e) && containerOfPath(e.FieldPath) == name && strings.HasPrefix(e.Message, first) &&
			!e.Last.Before(t.StartedAt.Add(-slack)) {
			return e
		}
	}
	return nil
}

// stopTime returns how long a container that is killed for a probe may take to stop.
func (c *Case) stopTime(p *corev1.Probe) time.Duration {
	grace := int64(30)
	if g := c.Spec.Spec.TerminationGracePeriodSeconds; g != nil {
		grace = *g
	}
	if g := p.TerminationGracePeriodSeconds; g != nil {
		grace = *g
	}
	return time.Duration(grace)*time.Second + 15*time.Second
}
