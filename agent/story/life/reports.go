package life

import (
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// reported takes a report about a pod.
func (l *Lives) reported(p *Pod, r *history.Record) {
	switch l.h.Role(r.Step) {
	case probes.RoleBound:
		p.Removed, p.GoneAt = false, 0
		l.bound(p, r)
	case probes.RoleDeleting:
		p.deleteWithin(l.sinceWhen(r), r.Field("grace"))
		p.doom(r)
	case probes.RoleGone:
		p.Removed, p.GoneAt = true, r.Time
	case probes.RoleSandboxState:
		p.sandboxIs(r)
	case probes.RoleKnown:
		if p.Removed = !r.Field("known").Flag(); !p.Removed {
			p.Bound, p.GoneAt = true, 0
		} else if p.GoneAt == 0 {
			p.GoneAt = r.Time
		}
	case probes.RolePhase:
		p.phaseIs(Phase(indexOf(Phases, r.Field("phase").Text)), r.Time)
		p.Ended = p.Ended || p.Phase.Over()
	case probes.RoleCondition:
		l.conditionIs(p, r)
	case probes.RoleContainerState:
		l.containerIs(p, r)
	case probes.RoleEvent:
		if r.Field("type").String() == "Warning" {
			p.troubled(r.Time, r.Time)
			p.Warned = r.Pos
		}
	}
}

// fillIn takes a report about a pod whose turns are seen. It takes only what the probe that sees turns may be unable
// to read, or may have missed before it attached.
func (l *Lives) fillIn(p *Pod, r *history.Record) {
	switch l.h.Role(r.Step) {
	case probes.RoleBound:
		l.bound(p, r)
	case probes.RoleGone:
		p.Removed, p.GoneAt = true, r.Time
	case probes.RoleDeleting:
		p.deleteWithin(l.sinceWhen(r), r.Field("grace"))
	case probes.RolePhase:
		if p.Phase == 0 {
			p.phaseIs(Phase(indexOf(Phases, r.Field("phase").Text)), r.Time)
		}
	case probes.RoleSandboxState:
		p.Sandboxed = p.Sandboxed || r.Field("ready").Flag()
	case probes.RoleContainerState:
		if p.turnAt == 0 { // what the pod waits for began before podstep attached
			l.containerIs(p, r)
			return
		}
		p.change(r.Field("container").String(), func(c *Container) { c.reportIs(r) })
	case probes.RoleCondition:
		if string(r.Field("type").Text) == "Ready" {
			l.conditionIs(p, r)
		}
	}
}

// bound notes that a source wants the pod on this node, since when, and what its spec says of how long it may take.
func (l *Lives) bound(p *Pod, r *history.Record) {
	if !p.Bound {
		p.moves(l.sinceWhen(r))
	}
	p.Bound = true
	p.patience, _ = r.Field("patience").Duration()
	p.mayEnd = r.Field("restartPolicy").Found()
}

func (p *Pod) sandboxIs(r *history.Record) {
	if p.Sandboxed = r.Field("ready").Flag(); p.Sandboxed {
		p.sandbox = sandboxOf(r)
	}
	switch {
	case p.Sandboxed && !p.reported:
		p.runs(r.Time)
	case !p.Sandboxed && !p.Bound:
		// This is what is left of a pod until garbage collection.
		p.Removed, p.GoneAt = true, r.Time
	}
}

func (l *Lives) conditionIs(p *Pod, r *history.Record) {
	if reason := string(r.Field("reason").Text); reason == "PodCompleted" || reason == "PodFailed" {
		p.Ended = true
	}
	if string(r.Field("type").Text) != "Ready" {
		return
	}
	from := l.sinceWhen(r)
	if p.readyIs(string(r.Field("status").Text) == "True", from); !p.Ready {
		return
	}
	p.Warned = None
	if from < r.Time {
		p.readyFrom = from // the object knows it better than what was seen
	}
}

// containerIs takes the state of a container. A container keeps the pod from going on if it waits because of a
// failure, or if it ends again and again.
func (l *Lives) containerIs(p *Pod, r *history.Record) {
	is := r.Field("state").String()
	bad := IsFailure(r.Field("reason").String())
	again := r.Field("restartCount").Num > 0 && r.Field("exitCode").Num != 0
	blocked := is == "waiting" && bad || is == "terminated" && again && !p.Ended
	if blocked {
		p.troubled(l.sinceWhen(r), r.Time)
	}
	p.change(r.Field("container").String(), func(c *Container) {
		l.tryReported(c, r, again)
		c.reportIs(r)
	})
	if is != "waiting" {
		p.moves(l.sinceWhen(r))
	}
	if blocked {
		if p.Blocked != None {
			p.blocked = append(l.unblocked(p, r), p.Blocked)
			if l.isOf(p.Blocked, r) {
				p.blocked = p.blocked[:len(p.blocked)-1]
			}
		}
		p.Blocked = r.Pos
		return
	}
	if is == "running" || is == "terminated" {
		p.Warned = None
	}
	if p.Blocked == None {
		return
	}
	p.blocked = l.unblocked(p, r)
	if !l.isOf(p.Blocked, r) {
		return
	}
	p.Blocked = None
	if n := len(p.blocked); n > 0 {
		p.Blocked, p.blocked = p.blocked[n-1], p.blocked[:n-1:n-1]
	}
}

// unblocked returns the reports of containers that cannot start, without those of the container in a report.
func (l *Lives) unblocked(p *Pod, r *history.Record) (out []int) {
	for _, pos := range p.blocked {
		if !l.isOf(pos, r) {
			out = append(out, pos)
		}
	}
	return out
}

// isOf reports whether the report at a position is of the same container as another report, or is not kept.
func (l *Lives) isOf(pos int, r *history.Record) bool {
	raw := l.h.Raw(pos)
	return raw == nil || string(wire.Lookup(raw, "container").Text) == string(r.Field("container").Text)
}

// tryReported takes what a report shows about the tries to start a container; again: it has failed, and not for the
// first time.
func (l *Lives) tryReported(c *Container, r *history.Record, again bool) {
	if n, ok := r.Field("restartCount").Number(); ok {
		c.Restarts = int32(n)
	}
	switch is, reason := string(r.Field("state").Text), string(r.Field("reason").Text); {
	case is == "running":
		began := l.sinceWhen(r)
		c.started(began, began)
	case is == "terminated":
		c.began(r.Time)
		c.looping = c.looping || again
	case reason == "CrashLoopBackOff":
		c.waits(CrashBackOff, l.loopEnds(r))
	case reason == "ImagePullBackOff":
		c.waits(PullBackOff, 0)
	default:
		c.began(r.Time)
	}
}

// backOffOf finds the length of the back-off in the kubelet's message about it.
var backOffOf = regexp.MustCompile(`^back-off ([0-9hms.]+) restarting failed container`)

// loopEnds returns when the back-off in a report ends; 0: not known. The back-off counts from the end of the
// container, which not every report has.
func (l *Lives) loopEnds(r *history.Record) int64 {
	m := backOffOf.FindSubmatch(r.Field("message").Text)
	if m == nil || !r.Field("lastExitCode").Found() {
		return 0
	}
	ended, err := time.Parse(time.RFC3339Nano, r.Field("since").String())
	if err != nil {
		return 0
	}
	d, err := time.ParseDuration(string(m[1]))
	if err != nil {
		return 0
	}
	return ended.UnixNano() - l.h.Origin() + int64(d)
}

// failures are the reasons of waiting containers that stand for failures, of the kubelet's
// pkg/kubelet/container/sync_result.go and pkg/kubelet/images/types.go.
var failures = map[string]bool{
	"ErrImagePull": true, "ImagePullBackOff": true, "ErrImageNeverPull": true, "InvalidImageName": true, "ImageInspectError": true,
	"CrashLoopBackOff": true, "CreateContainerConfigError": true, "CreateContainerError": true, "RunContainerError": true,
	"PostStartHookError": true, "CreatePodSandboxError": true, "KillContainerError": true, "PreStartHookError": true,
}

// IsFailure reports whether a container with that reason waits because something failed.
func IsFailure(reason string) bool { return failures[reason] }

// Failures returns the reasons for which IsFailure is true, in order.
func Failures() []string { return slices.Sorted(maps.Keys(failures)) }
