package explain

import (
	"strings"

	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// whereabouts says where the pod is: the call that goes on for it, or what it waits for, as far as the probes see that. Of what
// the probes do not see, it says nothing: where no turns are seen, it claims less.
func (r *reader) whereabouts() evidence.Whereabouts {
	switch {
	case r.p.Former != 0:
		return evidence.Whereabouts{ID: "where.agentUnknown"}
	case r.state == life.Gone:
		return r.whereGone()
	case r.inCall():
		return r.whereInCall()
	case r.state == life.Done || r.p.Finished || r.lives.Lingers(r.p):
		return r.whereEnded()
	case r.p.Deleting:
		return r.withFinalizers(evidence.Whereabouts{ID: "where.deleting", Since: r.wallOr(r.p.DeletedAt), Call: r.shown(probes.RoleDeleting)}, "where.deletingFinalizers")
	case r.state == life.Idle:
		return r.whereReady()
	case r.p.Phase == life.Running:
		return r.whereUnready()
	case r.knows.Turns:
		return r.whereBetweenTurns()
	}
	return r.whereBetweenCalls()
}

// inCall reports whether a call goes on for the pod. Where turns are seen, a call outside a turn counts only before the
// pod has a worker.
func (r *reader) inCall() bool {
	if r.p.At == history.None {
		return false
	}
	return !r.knows.Turns || r.p.Turning || !r.p.Worker && !r.p.Finished
}

func (r *reader) whereGone() evidence.Whereabouts {
	switch {
	case r.knows.Turns:
		return evidence.Whereabouts{ID: "where.goneSource", Call: r.shown(probes.RoleRemove)}
	case !r.p.Bound:
		return evidence.Whereabouts{ID: "where.goneSandbox", Call: r.shown(probes.RoleSandboxState)}
	}
	return evidence.Whereabouts{ID: "where.goneCluster", Call: r.shown(probes.RoleGone, probes.RoleKnown)}
}

// argOther is the argument that names the pod whose image is pulled before this pod's.
const argOther = "other"

func (r *reader) whereInCall() evidence.Whereabouts {
	out := evidence.Whereabouts{ID: "where.inCall", Since: r.wall(r.p.Since)}
	call := r.h.Call(r.p.At, r.at)
	if call.Step != nil {
		of := callOf(r.h, &call)
		out.Call = &of
	}
	st := r.h.Step(r.p.Step)
	if st.Means().Role == probes.RolePullWait && r.inPullQueue() {
		out.ID = "where.pullQueue"
		if other := r.pullsBefore(); other != "" {
			out.ID, out.Args = "where.pullQueueBehind", map[string]string{argOther: other}
		}
	} else if st.Means().Waits.En != "" {
		out.ID = "where.waitsInCall"
	}
	return out
}

func (r *reader) whereEnded() evidence.Whereabouts {
	switch {
	case r.lives.Lingers(r.p):
		return r.withFinalizers(evidence.Whereabouts{ID: "where.objectKept", Call: r.shown(probes.RoleDeleting)}, "where.finalizers")
	case r.p.Finished && r.p.Deleting:
		return evidence.Whereabouts{ID: "where.endedDeleted"}
	case r.p.Phase.Over():
		return evidence.Whereabouts{ID: "where.ended", Args: map[string]string{"phase": r.p.Phase.String()}, Call: r.shown(probes.RolePhase, probes.RoleStatus)}
	}
	return evidence.Whereabouts{ID: "where.endedContainers", Call: r.shown(probes.RoleCondition)}
}

// withFinalizers returns the whereabouts of a pod that is being deleted, under another id if the pod has finalizers.
func (r *reader) withFinalizers(of evidence.Whereabouts, id string) evidence.Whereabouts {
	if names := words.OneLine(strings.Join(r.lives.FinalizersOf(r.p), ", ")); names != "" {
		of.ID, of.Args = id, map[string]string{"names": names}
	}
	return of
}

func (r *reader) whereReady() evidence.Whereabouts {
	if !r.knows.Turns && !r.knows.Reports {
		return evidence.Whereabouts{ID: "where.runsUnasked", Call: r.shown(probes.RoleStart, probes.RoleContainerStatus, probes.RoleSandboxState)}
	}
	return evidence.Whereabouts{ID: "where.ready", Call: r.shown(probes.RoleCondition, probes.RoleStatus)}
}

func (r *reader) whereUnready() evidence.Whereabouts {
	if call, ok := r.failingProbe(); ok {
		of := callOf(r.h, &call)
		return evidence.Whereabouts{ID: "where.probeFails", Call: &of, Args: map[string]string{
			"probe": strings.ToLower(words.OneLine(call.Text("probeType"))), "container": words.OneLine(call.Text("container")),
		}}
	}
	return evidence.Whereabouts{ID: "where.unready", Call: r.shown(probes.RoleContainerState, probes.RoleCondition, probes.RoleStatus)}
}

// failingProbe returns the last call of the health probe that keeps a running pod from being ready: one whose last result was
// a failure.
func (r *reader) failingProbe() (call history.Call, ok bool) {
	if !r.waits() {
		return call, false
	}
	seen := map[string]bool{}
	return r.lastCall(probes.RoleProbe, func(call *history.Call) bool {
		key := call.Text("probeType") + " " + call.Text("container")
		if seen[key] || call.Text("probeType") == "Liveness" {
			return false
		}
		seen[key] = true
		return call.Text("result") == "Failure"
	})
}

func (r *reader) whereBetweenTurns() evidence.Whereabouts {
	switch {
	case r.p.Sandboxed:
		return evidence.Whereabouts{ID: causes.WaitsForContainers, Call: r.shown(probes.RoleStatus)}
	case !r.p.Worker:
		return evidence.Whereabouts{ID: "where.waitsForWorker"}
	}
	return evidence.Whereabouts{ID: "where.quiet", Since: r.wall(r.since), Call: r.shown(probes.RoleStatus)}
}

// whereBetweenCalls is for a pod that is on its way and for which no call goes on, where no turns are seen.
func (r *reader) whereBetweenCalls() evidence.Whereabouts {
	out := evidence.Whereabouts{Since: r.wall(r.since)}
	switch known := r.shown(probes.RoleKnown); {
	case !r.knows.Reports:
		out.ID = "where.quietUnasked"
	case r.p.Sandboxed:
		out.ID, out.Call = "where.quietSandbox", r.shown(probes.RoleKnown, probes.RoleBound)
	case known != nil:
		out.ID, out.Call = "where.quietKnown", known
	default:
		out.ID, out.Call = "where.quietBound", r.shown(probes.RoleBound)
	}
	return out
}

// shown returns the pod's last call, or report, of the first of these roles that has one; nil: none has.
func (r *reader) shown(roles ...probes.Role) *evidence.Call {
	for _, role := range roles {
		ref := r.h.Back(r.pod, r.at, func(_ int, sp *history.Span) bool {
			return r.h.Role(sp.Step) == role && (sp.Shape != history.NoEnter || sp.Over(r.at))
		})
		if ref == history.None {
			continue
		}
		if call := r.h.Call(ref, r.at); call.Step != nil {
			of := callOf(r.h, &call)
			return &of
		}
	}
	return nil
}

// inPullQueue reports whether the pod has to wait for its turn to pull an image: the kubelet
// has not asked the runtime for the image yet. After the pull, the kubelet asks for the image's size before it goes on.
func (r *reader) inPullQueue() bool {
	if !r.h.EpochBefore(r.at).Sees(r.h.StepFor(probes.RolePull), r.at) {
		return false
	}
	return r.h.Back(r.pod, r.at, func(_ int, sp *history.Span) bool {
		return sp.Start >= r.p.Since && r.h.Role(sp.Step) == probes.RolePull
	}) == history.None
}

// pullsBefore returns the name of the pod whose image is pulled while this pod's waits for its turn; empty: it is not known.
func (r *reader) pullsBefore() string {
	wait := r.h.StepFor(probes.RolePullWait)
	for i := range r.h.Pods() {
		p := r.world.Pod(i)
		if i > 0 && p.At != history.None && p.Step == wait && r.h.GoesOn(i, probes.RolePull, p.Since, r.at) {
			return r.h.Pod(i).Entity.NamespacedName()
		}
	}
	return ""
}
