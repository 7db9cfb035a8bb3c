package explain

import (
	"time"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// rulesOfCalls are for probes that see no turns: they see the kubelet's calls to
// its runtime, and what is reported of a pod.
var rulesOfCalls = []rule{
	isLeftover, isGone, runsAgain, isInCall, containersEnded, isBlocked, callFails, isBeingDeleted, isOver,
	runsUnasked, isReady, isWarned, isNotReady, callsUnasked, isSandboxed, isKnown, isBound,
}

func isLeftover(c *check) *Finding {
	if c.state != life.Gone || c.p.Bound {
		return nil
	}
	return c.found(c.lastEnter(probes.RoleSandboxState), Phrase{GoneSandbox, Args{"pod": c.name}})
}

func isGone(c *check) *Finding {
	if c.state != life.Gone {
		return nil
	}
	return c.found(c.lastEnter(probes.RoleGone, probes.RoleKnown), Phrase{GoneCluster, Args{"pod": c.name}})
}

// isInCall finds a pod for which a call goes on. If the pod is stuck because one of its
// containers cannot start, that explains more than a call that is not slow.
func isInCall(c *check) *Finding {
	blocked := (c.state == life.Stuck || c.state == life.Retrying) && c.p.Blocked != history.None
	if c.p.At == history.None || blocked && history.Since(c.p.Since, c.now) <= life.StuckAfter {
		return nil
	}
	return c.inCall()
}

func containersEnded(c *check) *Finding {
	if c.state != life.Done || c.p.Phase.Over() {
		return nil
	}
	return c.found(c.lastEnter(probes.RoleCondition), Phrase{EndedContainers, Args{"pod": c.name}})
}

// isBlocked finds why a container cannot start, by what is reported of it.
func isBlocked(c *check) *Finding {
	if c.p.Blocked == history.None || c.p.Deleting || c.state == life.Done {
		return nil
	}
	return c.found(c.p.Blocked, c.blocked(), c.blockedMore()...)
}

func (c *check) blocked() Phrase {
	e, ok := c.h.Event(c.p.Blocked)
	if !ok {
		return Phrase{ContainerBlockedSomehow, Args{"pod": c.name}}
	}
	field := func(name string) string { return words.Short(e.Fields[name]) }
	if field("state") == "terminated" {
		return Phrase{ContainerRestarts, Args{
			"pod": c.name, "container": field("container"), "exitCode": field("exitCode"), "reason": field("reason"), "restarts": field("restartCount"),
		}}
	}
	failure := Phrase{Code: failurePrefix + Code(field("reason"))}
	return Phrase{ContainerBlocked, Args{"pod": c.name, "container": field("container"), "failure": failure, "reason": field("reason")}}
}

// blockedMore says how the container ended last, or else what the kubelet's message about it
// is. It also says how often the container was tried, and when its back-off ends.
func (c *check) blockedMore() (out []Phrase) {
	e, _ := c.h.Event(c.p.Blocked)
	field := func(name string) string { return words.Short(e.Fields[name]) }
	if field("state") == "terminated" {
		return nil
	}
	if code := field("lastExitCode"); code != "" {
		out = append(out, Phrase{ContainerExit, Args{"exitCode": code, "reason": field("lastReason")}})
	} else if why := words.Cut(plain(field("message")), maxReason); why != "" {
		out = append(out, Phrase{Detail, Args{"error": why}})
	}
	out = append(out, c.blockedTries()...)
	if t, _ := c.p.Container(field("container")); t.Until > c.now {
		out = append(out, Phrase{BackOffEnds, Args{"in": time.Duration(t.Until - c.now)}})
	}
	return out
}

// blockedTries says how often the pulls for a container failed, or how often the container was
// started again.
func (c *check) blockedTries() []Phrase {
	e, _ := c.h.Event(c.p.Blocked)
	field := func(name string) string { return words.Short(e.Fields[name]) }
	switch field("reason") {
	case "ErrImagePull", "ImagePullBackOff":
		return triesOf(c.pullsFailed(field("message")))
	}
	if n := field("restartCount"); n != "" && n != "0" && field("state") != "terminated" {
		return []Phrase{{Restarts, Args{"restarts": n}}}
	}
	return nil
}

// callFails finds the call to the runtime that fails, and its error.
func callFails(c *check) *Finding {
	if c.p.Failed == history.None || c.state == life.Done {
		return nil
	}
	return c.found(c.p.Failed, c.failedCall(), c.callTries()...)
}

func (c *check) failedCall() Phrase {
	err := plain(c.failed())
	return Phrase{CallFails, Args{"pod": c.name, "step": c.h.Step(c.p.FailStep).Title(), "error": words.Cut(err, maxReason), "short": words.Cut(err, maxBrief)}}
}

func isBeingDeleted(c *check) *Finding {
	if !c.p.Deleting {
		return nil
	}
	f := c.found(c.lastEnter(probes.RoleDeleting), c.deleting())
	if names := c.finalizers(); names != "" {
		f.More = append(f.More, Phrase{DeletingFinalizers, Args{"names": names}})
	}
	return f
}

func isOver(c *check) *Finding {
	if c.state != life.Done {
		return nil
	}
	return c.found(c.lastEnter(probes.RolePhase), c.ended())
}

func runsUnasked(c *check) *Finding {
	if c.state != life.Idle || c.knows.Reports {
		return nil
	}
	return c.found(c.lastEnter(probes.RoleStart, probes.RoleContainerStatus, probes.RoleSandboxState), Phrase{RunningUnasked, Args{"pod": c.name}})
}

func isReady(c *check) *Finding {
	if c.state != life.Idle {
		return nil
	}
	return c.found(c.lastEnter(probes.RoleCondition), c.ready())
}

func isWarned(c *check) *Finding {
	if c.p.Warned == history.None {
		return nil
	}
	if p, ok := c.warned(); ok {
		return c.found(c.p.Warned, p)
	}
	return c.found(history.None, Phrase{WarnedSomehow, Args{"pod": c.name}})
}

// warned returns the last warning about the pod; ok is false if it is not kept.
func (c *check) warned() (p Phrase, ok bool) {
	e, ok := c.h.Event(c.p.Warned)
	if !ok {
		return p, false
	}
	message := words.Short(e.Fields["message"])
	return Phrase{Warned, Args{
		"pod": c.name, "reason": words.Short(e.Fields["reason"]), "message": words.Cut(plain(message), maxReason), "short": words.Cut(message, maxBrief),
	}}, true
}

func isNotReady(c *check) *Finding {
	if c.p.Phase != life.Running {
		return nil
	}
	return c.found(c.lastEnter(probes.RoleContainerState, probes.RoleCondition), c.unready())
}

// The rules below are about a pod that is on its way and for which no call goes on.

func callsUnasked(c *check) *Finding {
	if c.knows.Reports {
		return nil
	}
	return c.found(history.None, Phrase{CallsUnasked, Args{"pod": c.name}})
}

func isSandboxed(c *check) *Finding {
	if !c.p.Sandboxed {
		return nil
	}
	return c.found(c.lastEnter(probes.RoleKnown, probes.RoleBound), Phrase{QuietSandbox, Args{"pod": c.name, "took": history.Since(c.since, c.now)}})
}

func isKnown(c *check) *Finding {
	known := c.lastEnter(probes.RoleKnown)
	if known == history.None {
		return nil
	}
	return c.found(known, Phrase{QuietKnown, Args{"pod": c.name, "took": history.Since(c.since, c.now)}})
}

func isBound(c *check) *Finding {
	return c.found(c.lastEnter(probes.RoleBound), Phrase{QuietBound, Args{"pod": c.name, "took": history.Since(c.since, c.now)}})
}
