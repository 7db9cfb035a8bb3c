package life

import (
	"bytes"
	"hash/crc32"
	"time"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// The functions of this file take the events of a probe that sees no turns: the kubelet's calls to its runtime, and
// reports of a pod.

// Changes reports whether a call changes something for its pod; enter is the event that began it. All other calls
// only look, and the kubelet makes them all the time.
func Changes(h *history.History, step history.StepID, enter *history.Record) bool {
	about := h.Step(step).About
	if about == nil {
		return false
	}
	switch about.Story.Changes {
	case probes.ChangeAlways:
		return true
	case probes.ChangeUntimed:
		d, ok := enter.Field("timeout").Duration()
		return ok && d == 0
	}
	return false
}

// changes is Changes for a call that is kept.
func (l *Lives) changes(sp *history.Span) bool {
	return Changes(l.h, sp.Step, &history.Record{Raw: l.h.Raw(sp.Enter)})
}

// callBegan takes the beginning of a call, or a report, whose first event has all of it.
func (l *Lives) callBegan(p *Pod, r *history.Record) {
	if l.h.Reported(r.Step) {
		l.reported(p, r)
		return
	}
	if l.h.Role(r.Step) == probes.RoleCreate {
		p.attempt(r)
	}
	if Changes(l.h, r.Step, r) {
		p.At, p.Step, p.Since = r.Span, r.Step, r.Time
	}
}

// callEnded takes the end of a call.
func (l *Lives) callEnded(p *Pod, r *history.Record) {
	sp := l.h.Span(r.Span)
	if sp == nil || l.h.Reported(r.Step) {
		return
	}
	role := l.h.Role(r.Step)
	if role == probes.RoleSandbox && !r.Header.HasError {
		p.Sandboxed, p.sandbox = true, sandboxOf(r)
		if !p.Bound {
			p.Removed, p.GoneAt = false, 0 // its calls had shown that it was gone
		}
	}
	if role == probes.RoleRemoveSandbox && !p.Bound && !p.Removed && l.isGone(p, r) {
		p.Removed, p.GoneAt = true, r.Time
	}
	if role == probes.RolePull {
		p.pulled(wire.Lookup(l.h.Raw(sp.Enter), "image").String(), sp.Start, r.Time, r.Header.HasError)
	}
	if !p.reported {
		l.callShows(p, role, r)
	}
	if about := l.h.Step(r.Step).About; about == nil || about.Story.Changes != probes.ChangeAlways {
		l.leaveCall(p, r)
		return
	}
	switch {
	case r.Header.HasError:
		p.troubled(troubleFrom(sp, r), r.Time)
		p.fails(r.Pos, r.Step)
	case p.FailStep == r.Step:
		p.moves(r.Time)
		p.works()
	}
	l.leaveCall(p, r)
}

// leaveCall goes back to another open call that changes something: the kubelet stops containers at the same time.
func (l *Lives) leaveCall(p *Pod, r *history.Record) {
	if p.At != r.Span {
		return
	}
	p.At, p.Since = None, r.Time
	other := l.h.Back(r.Pod, r.Pos+1, func(_ int, sp *history.Span) bool {
		return !sp.Over(r.Pos+1) && sp.Shape != history.NoExit && l.changes(sp)
	})
	if sp := l.h.Span(other); sp != nil {
		p.At, p.Step, p.Since = other, sp.Step, sp.Start
	}
}

// callShows takes what a call shows about a pod of which there are no reports.
func (l *Lives) callShows(p *Pod, role probes.Role, r *history.Record) {
	switch {
	case r.Header.HasError:
	case role == probes.RoleStart, role == probes.RoleContainerStatus && string(r.Field("state").Text) == "CONTAINER_RUNNING":
		p.runs(r.Time)
	case role == probes.RoleStopSandbox:
		p.delete(r.Time)
	}
}

var notFound = []byte("code = NotFound")

// isGone reports whether a call has removed the pod's sandbox, or has found that there is none. That is the end of a
// pod that no report wants on this node.
func (l *Lives) isGone(p *Pod, r *history.Record) bool {
	if r.Header.HasError && !bytes.Contains(r.Header.ErrorText, notFound) {
		return false
	}
	return p.sandbox == 0 || p.sandbox == l.sandboxRemoved(r)
}

// sandboxOf returns a number that tells a pod's sandboxes apart; 0: the event names none.
func sandboxOf(r *history.Record) uint32 {
	id := r.Field("podSandboxID")
	if !id.Found() {
		return 0
	}
	return crc32.ChecksumIEEE(id.Text) | 1
}

// sandboxRemoved returns the sandbox that a call removed. The call's first event names it.
func (l *Lives) sandboxRemoved(r *history.Record) uint32 {
	sp := l.h.Span(r.Span)
	if sp == nil {
		return 0
	}
	return sandboxOf(&history.Record{Raw: l.h.Raw(sp.Enter)})
}

// runs notes that a pod runs, as far as its calls show.
func (p *Pod) runs(t int64) {
	if p.Phase != Running {
		p.phaseIs(Running, t)
		p.readyIs(true, t)
		p.ReadyAt = t
	}
}

// sinceWhen returns when the state in a report began. A state that is older than the probe is reported later, with
// the time that the object states.
func (l *Lives) sinceWhen(r *history.Record) int64 {
	if string(r.Field("from").Text) != "object" {
		return r.Time
	}
	t, err := time.Parse(time.RFC3339Nano, r.Field("since").String())
	if err != nil {
		return r.Time
	}
	return min(r.Time, t.UnixNano()-l.h.Origin())
}
