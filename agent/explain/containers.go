package explain

import (
	"strings"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// lastExit says how a container ended that is in its crash back-off. It is empty if the error
// is another one, or if the end is not known.
func (c *check) lastExit(err string) []Phrase {
	m := failedTo.FindStringSubmatch(err)
	if m == nil || m[3] != crashLoop {
		return nil
	}
	id := c.containerID(m[2])
	if id == "" {
		return nil
	}
	last, ok := c.lastWith(probes.RoleContainerStatus, func(call *history.Call) bool { return call.Text("containerID") == id })
	code, known := last.Number("exitCode")
	if !ok || !known || last.Text("state") != "CONTAINER_EXITED" {
		return nil
	}
	return []Phrase{{ContainerExit, Args{"exitCode": code, "reason": words.OneLine(last.Text("reason"))}}}
}

// containerID returns the runtime's id of the container that was created last under a name. It
// is empty if no probe saw that.
func (c *check) containerID(name string) string {
	created, ok := c.lastWith(probes.RoleCreate, func(call *history.Call) bool {
		return call.Text("container") == name && call.Text("containerID") != ""
	})
	if !ok {
		return ""
	}
	return created.Text("containerID")
}

// lastWith returns the pod's last call of a role that has ended and that wanted accepts.
func (c *check) lastWith(r probes.Role, wanted func(*history.Call) bool) (call history.Call, ok bool) {
	step := c.h.StepFor(r)
	ref := c.h.Back(c.pod, c.at, func(ref int, sp *history.Span) bool {
		if sp.Step != step || !sp.Over(c.at) {
			return false
		}
		call = c.h.Call(ref, c.at)
		return wanted(&call)
	})
	return call, ref != history.None
}

// probeFails finds the health probe that keeps a running pod from being ready: one whose last
// result was a failure.
func probeFails(c *check) *Finding {
	if !c.waits() || c.p.Phase != life.Running {
		return nil
	}
	seen := map[string]bool{}
	call, ok := c.lastWith(probes.RoleProbe, func(call *history.Call) bool {
		key := call.Text("probeType") + " " + call.Text("container")
		if seen[key] || call.Text("probeType") == "Liveness" {
			return false
		}
		seen[key] = true
		return call.Text("result") == "Failure"
	})
	if !ok {
		return nil
	}
	if _, kept := c.h.Event(call.Exit); !kept {
		return nil
	}
	return c.found(call.Exit, Phrase{UnreadyProbe, Args{
		"pod": c.name, "probe": strings.ToLower(words.OneLine(call.Text("probeType"))), "container": words.OneLine(call.Text("container")),
	}})
}

// finalizers returns those of a pod that is being deleted; empty if none are known.
func (c *check) finalizers() string {
	return words.Cut(words.OneLine(strings.Join(c.lives.FinalizersOf(c.p), ", ")), maxReason)
}
