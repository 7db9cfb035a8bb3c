package life

import (
	"bytes"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/probes"
)

// What follows takes the events of a probe that sees the turns of a pod's worker.

func (l *Lives) entered(p *Pod, r *history.Record) {
	sp := l.h.Span(r.Span)
	if sp == nil {
		return
	}
	switch l.h.Role(r.Step) {
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
			p.delete(r.Time)
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
	p.Turning, p.Next, p.FailStep = true, 0, 0
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
	switch l.h.Role(r.Step) {
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
			p.Refused = !a.Flag()
		}
	case probes.RoleSandbox:
		p.Sandboxed = p.Sandboxed || !r.Header.HasError
	case probes.RoleEnd:
		p.Finished = true
	}
	sp := l.h.Span(r.Span)
	if r.Header.HasError && p.FailStep == 0 && sp != nil && sp.Worker && p.Turning {
		p.FailStep = r.Step
	}
	if p.At == r.Span && sp != nil {
		l.up(p, sp, r.Time)
	}
}

// merged takes what changed of a pod since its source sent it last.
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

// ofMirror tells whether an event of a static pod is about its mirror in the API:
// the pod stays when its mirror goes.
func ofMirror(r *history.Record) bool { return r.Field("mirror").Flag() }

// up goes back to the call that the one that has ended was made from.
func (l *Lives) up(p *Pod, sp *history.Span, now int64) {
	parent := l.h.Span(sp.Parent)
	if parent == nil || l.h.Role(parent.Step) == probes.RoleLife || l.h.Role(parent.Step) == probes.RoleWorker {
		p.At, p.Since = None, now
		return
	}
	p.At, p.Step, p.Since = sp.Parent, parent.Step, now
}

func (p *Pod) turnEnds(r *history.Record) {
	p.Turning, p.At, p.Since = false, None, r.Time
	if r.Header.HasError {
		if p.Tries == 0 {
			p.Trouble = r.Time
		}
		p.Tries++
		p.Failed = r.Pos
		return
	}
	p.Tries, p.Failed, p.FailStep = 0, None, 0
}

var readyTrue = []byte(`"Ready":"True"`)

func (p *Pod) setStatus(r *history.Record) {
	if ph := r.Field("phase"); ph.Found() {
		p.Phase = Phase(indexOf(Phases, ph.Text))
	}
	if c := r.Field("conditions"); c.Found() {
		p.Ready = bytes.Contains(c.Text, readyTrue)
		if p.Ready && p.ReadyAt == 0 {
			p.ReadyAt = r.Time
		}
	}
}
