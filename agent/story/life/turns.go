package life

import (
	"bytes"
	"cmp"
	"regexp"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// The functions of this file take the events of a probe that sees the turns of a pod's worker.

func (l *Lives) entered(p *Pod, r *history.Record) {
	sp := l.h.Span(r.Span)
	if sp == nil {
		return
	}
	if l.h.Reported(r.Step) {
		l.fillIn(p, r)
		return
	}
	role := l.h.Role(r.Step)
	p.tryBegan(role, r)
	switch role {
	case probes.RoleWorker:
		p.Worker, p.Finished = true, false
		return
	case probes.RoleTurn:
		p.turnBegins(r)
	case probes.RoleNext:
		if d, ok := r.Field("delay").Duration(); ok {
			p.Next = r.Time + int64(d)
		}
	case probes.RoleUpdate:
		if r.Field("deletionGracePeriod").Found() || string(r.Field("updateType").Text) == "kill" {
			p.deleteWithin(r.Time, r.Field("deletionGracePeriod"))
		}
	case probes.RoleCanDelete:
		p.delete(r.Time)
		p.doom(r)
	case probes.RoleAdd:
		p.Removed = p.Removed && ofMirror(r)
	case probes.RoleLife:
		return
	}
	if sp.Worker || !p.Worker {
		p.At, p.Step, p.Since = r.Span, r.Step, r.Time
	}
}

func (p *Pod) turnBegins(r *history.Record) {
	if p.turnAt == 0 {
		p.Blocked, p.blocked = None, nil // from now on the turns show what fails
	}
	p.Turning, p.turnAt, p.Next, p.FailStep, p.failing = true, r.Time, 0, 0, 0
	if p.leftover {
		p.Removed, p.leftover, p.GoneAt = false, false, 0 // its worker is there
	}
	p.Sync = r.Header.Sync
	if t := r.Field("workType"); t.Found() {
		p.Work = works[string(t.Text)]
	}
	p.Update = indexOf(Updates, r.Field("updateType").Text)
	if p.Work == WorkTerminating || p.Work == WorkTerminated {
		p.delete(r.Time)
	}
}

func (l *Lives) left(p *Pod, r *history.Record) {
	if l.h.Reported(r.Step) {
		return
	}
	role := l.h.Role(r.Step)
	l.tryEnded(p, role, r)
	switch role {
	case probes.RoleWorker:
		p.Worker, p.Turning, p.Finished, p.At, p.GoneAt = false, false, true, None, r.Time
		return
	case probes.RoleTurn:
		p.turnEnds(r)
		return
	case probes.RoleStatus:
		p.setStatus(r)
	case probes.RoleMerge:
		p.merged(r)
	case probes.RoleRemove:
		p.Removed = p.Removed || !ofMirror(r)
	case probes.RoleAdmit:
		if a := r.Field("admitted"); a.Found() {
			if p.Refused = !a.Flag(); p.Refused {
				p.moves(r.Time)
			}
		}
	case probes.RoleSandbox:
		if !r.Header.HasError {
			p.Sandboxed = true
			p.moves(r.Time)
		}
	case probes.RoleEnd:
		p.Finished, p.GoneAt = true, cmp.Or(p.GoneAt, r.Time)
	case probes.RoleCache:
		l.cached(p, r)
	}
	sp := l.h.Span(r.Span)
	if r.Header.HasError && p.FailStep == 0 && sp != nil && sp.Worker && p.Turning {
		p.FailStep, p.failing = r.Step, troubleFrom(sp, r)
	}
	if p.At == r.Span && sp != nil {
		l.up(p, sp, r.Time)
	}
}

// cached takes what PLEG finds in the runtime. If that is nothing any more, a pod that nobody wants here is gone: it was
// deleted before podstep came.
func (l *Lives) cached(p *Pod, r *history.Record) {
	sp := l.h.Span(r.Span)
	if sp == nil || r.Header.HasError || p.Worker || p.Turning || p.Finished || p.Bound || p.Removed {
		return
	}
	if wire.Lookup(l.h.Raw(sp.Enter), "gone").Flag() {
		p.Removed, p.leftover, p.GoneAt = true, true, r.Time
	}
}

// merged takes what changed in a pod since its source last sent it.
func (p *Pod) merged(r *history.Record) {
	if ofMirror(r) {
		return
	}
	switch string(r.Field("op").Text) {
	case "DELETE":
		p.delete(r.Time)
		p.Doomed = true
	case "REMOVE":
		p.Removed = true
	case "ADD":
		p.Removed, p.Doomed, p.Finalizers = false, false, None
	}
}

// ofMirror reports whether an event of a static pod is about its mirror in the API. When the mirror goes, the pod
// stays.
func ofMirror(r *history.Record) bool { return r.Field("mirror").Flag() }

// up goes back from a call that has ended to the call that made it.
func (l *Lives) up(p *Pod, sp *history.Span, now int64) {
	parent := l.h.Span(sp.Parent)
	if parent == nil || l.h.Role(parent.Step) == probes.RoleLife || l.h.Role(parent.Step) == probes.RoleWorker {
		p.At, p.Since = None, now
		return
	}
	p.At, p.Step, p.Since = sp.Parent, parent.Step, now
}

// inCrashLoop matches what the error of a turn has of each container that waits for the back-off of a crash loop
// (pkg/kubelet/container/sync_result.go).
var inCrashLoop = regexp.MustCompile(`failed to "StartContainer" for "([^"]*)" with CrashLoopBackOff`)

// loopsBy notes which containers are in a crash loop by the error of a turn. A probe may see no more of it.
func (p *Pod) loopsBy(turnError []byte) {
	if !bytes.Contains(turnError, []byte("CrashLoopBackOff")) {
		return
	}
	for _, m := range inCrashLoop.FindAllSubmatch(turnError, maxContainers) {
		p.change(string(m[1]), func(c *Container) { c.waits(CrashBackOff, c.Until) })
	}
}

func (p *Pod) turnEnds(r *history.Record) {
	p.Turning, p.looked, p.At, p.Since = false, true, None, r.Time
	if r.Header.HasError {
		from := r.Time
		if p.failing != 0 {
			from = p.failing
		}
		p.troubled(from, r.Time)
		p.fails(r.Pos, p.FailStep)
		p.loopsBy(r.Header.ErrorText)
		return
	}
	if p.Failed != None {
		p.moves(r.Time)
	}
	p.works()
}

// fails notes that a turn or a call failed, at a step.
func (p *Pod) fails(pos int, step history.StepID) {
	if step != p.failStep {
		p.Tries = 0
	}
	p.Tries++
	p.Failed, p.FailStep, p.failStep = pos, step, step
}

// works notes that what had failed now works.
func (p *Pod) works() { p.Tries, p.Failed, p.FailStep, p.failStep = 0, None, 0, 0 }

// troubleFrom returns when the trouble began that a failed call shows: with the call's beginning, if the pod was
// already stuck in it.
func troubleFrom(sp *history.Span, r *history.Record) int64 {
	if sp.Shape == history.Whole && since(sp.Start, r.Time) > StuckAfter {
		return sp.Start
	}
	return r.Time
}

var readyTrue = []byte(`"Ready":"True"`)

func (p *Pod) setStatus(r *history.Record) {
	if ph := r.Field("phase"); ph.Found() {
		p.phaseIs(Phase(indexOf(Phases, ph.Text)), r.Time)
	}
	if c := r.Field("conditions"); c.Found() {
		p.readyIs(bytes.Contains(c.Text, readyTrue), r.Time)
	}
}
