package life

import (
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/probes"
)

// The functions of this file count tries where the kubelet makes them, and not how often its worker looks. They are
// for probes that see the turns of a worker.

// tryBegan takes the beginning of a call that may try something for a container.
func (p *Pod) tryBegan(role probes.Role, r *history.Record) {
	switch role {
	case probes.RoleContainer:
		kind := string(r.Field("typeName").Text)
		p.trying = r.Field("container").String()
		p.moves(r.Time)
		p.change(p.trying, func(c *Container) {
			c.began(r.Time)
			c.init = kind == "init container"
		})
		if kind == "container" {
			p.initsDone()
		}
	case probes.RoleCreate:
		p.attempt(r)
	}
}

// attempt notes for which attempt at a container a call is made. The attempt's number is the kubelet's restart count.
func (p *Pod) attempt(r *history.Record) {
	if n, ok := r.Field("attempt").Number(); ok {
		p.change(r.Field("container").String(), func(c *Container) { c.Restarts = int32(n) })
	}
}

// tryEnded takes the end of such a call.
func (l *Lives) tryEnded(p *Pod, role probes.Role, r *history.Record) {
	sp := l.h.Span(r.Span)
	if sp == nil {
		return
	}
	switch role {
	case probes.RoleContainer:
		if r.Header.HasError {
			p.troubled(r.Time, r.Time)
		}
		p.change(p.trying, func(c *Container) { c.ended(sp.Start, r) })
		p.trying = ""
	case probes.RoleBackoff:
		if r.Field("isInBackOff").Flag() {
			p.troubled(r.Time, r.Time)
			p.change(p.trying, func(c *Container) { c.waits(CrashBackOff, ends(r, "left")) })
		}
	case probes.RolePullWait:
		if r.Header.HasError && !isText(r, "ImagePullBackOff") {
			p.change(p.trying, func(c *Container) { c.waits(PullBackOff, ends(r, "backOff")) })
		}
	}
}

// ended takes the end of a try, or of a call that did not try because of a back-off.
func (c *Container) ended(tried int64, r *history.Record) {
	switch {
	case !r.Header.HasError:
		c.started(tried, r.Time)
	case isText(r, "CrashLoopBackOff"):
		c.waits(CrashBackOff, c.Until)
	case isText(r, "ImagePullBackOff"):
		c.waits(PullBackOff, c.Until)
	default:
		c.failed()
		if c.BackOff == NoBackOff {
			c.Until = 0
		}
	}
}

// isText reports whether a text is the error that a call ended with.
func isText(r *history.Record, text string) bool { return string(r.Header.ErrorText) == text }

// ends returns when the time in a result ends, counted from the event; 0: there is no such result.
func ends(r *history.Record, result string) int64 {
	if d, ok := r.Field(result).Duration(); ok && d > 0 {
		return r.Time + int64(d)
	}
	return 0
}
