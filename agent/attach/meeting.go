package attach

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/podstep/podstep/agent"
	"github.com/podstep/podstep/probes/uprobe"
	"github.com/podstep/podstep/probes/uprobe/holdproc"
)

// meetings bring the two halves of stops together: what the program in the kernel reports of
// the call, and what the hold process does. Each comes by a way of its own, in the order of
// the stops of its thread. The zero value is ready.
type meetings struct {
	mu      sync.Mutex
	waiting map[uprobe.Stop][]*meeting // one half of each has come; the oldest first
}

// meeting is one stop of a thread.
type meeting struct {
	came    chan struct{} // closed when the hold process has reported
	held    *holdproc.Held
	refused *holdproc.Refused
	process stopper       // that holds
	ended   chan struct{} // closed when the hold has ended

	seen, reported bool // which halves have come; under mu of meetings
}

// see is the meeting of a stop of whose call the program in the kernel reports.
func (ms *meetings) see(at uprobe.Stop) *meeting {
	return ms.meet(at, func(m *meeting) *bool { return &m.seen })
}

// report is the meeting of a stop of which the hold process reports.
func (ms *meetings) report(at uprobe.Stop) *meeting {
	return ms.meet(at, func(m *meeting) *bool { return &m.reported })
}

// meet is the oldest meeting of a stop that waits for a half, or a new one.
func (ms *meetings) meet(at uprobe.Stop, half func(*meeting) *bool) *meeting {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	all := ms.waiting[at]
	if len(all) > 0 && !*half(all[0]) {
		m := all[0]
		*half(m) = true
		ms.drop(at, m)
		return m
	}
	m := &meeting{came: make(chan struct{}), ended: make(chan struct{})}
	*half(m) = true
	if ms.waiting == nil {
		ms.waiting = map[uprobe.Stop][]*meeting{}
	}
	ms.waiting[at] = append(all, m)
	return m
}

// giveUp ends the wait for a meeting's other half. It reports false if that has come.
func (ms *meetings) giveUp(at uprobe.Stop, m *meeting) bool {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if m.seen && m.reported {
		return false
	}
	ms.drop(at, m)
	return true
}

// drop takes a meeting out of those that wait. The caller has mu.
func (ms *meetings) drop(at uprobe.Stop, m *meeting) {
	ms.waiting[at] = slices.DeleteFunc(ms.waiting[at], func(o *meeting) bool { return o == m })
	if len(ms.waiting[at]) == 0 {
		delete(ms.waiting, at)
	}
}

// stopped is that the program in the kernel has asked for a stop of a call. stop asks the
// agent whether it is wanted, and returns when the call is to go on.
func (h *holder) stopped(at uprobe.Stop, stop func(context.Context)) {
	m := h.meetings.see(at)
	h.host.Go(func() {
		select {
		case <-m.came:
		case <-time.After(h.within):
			if h.meetings.giveUp(at, m) {
				return // the signal was lost: the call has gone on
			}
			<-m.came
		}
		if m.held == nil {
			h.noteRefused(m.refused)
			return
		}
		h.hold(m, stop)
	})
}

// hold has the goroutine wait for as long as the agent wants, and lets it go then.
func (h *holder) hold(m *meeting, stop func(context.Context)) {
	ctx, cancel := h.during(m)
	defer cancel()
	go func() {
		tick := time.NewTicker(renewEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-m.ended: // by itself: the agent is to know
				cancel()
				return
			case <-m.process.Done():
				cancel()
				return
			case <-tick.C:
				m.process.Renew(m.held.Hold, lease)
			}
		}
	}()
	stop(ctx)
	m.process.LetGo(m.held.Hold)
}

// during is the context of a hold, which ends with the probe.
func (h *holder) during(m *meeting) (context.Context, context.CancelFunc) {
	if m.held.Whole {
		return agent.Standstill(h.host.Context(), m.held.Until)
	}
	return context.WithCancel(h.host.Context())
}

// noteRefused notes why a pod was not held, where that is news: a goroutine of another kind
// is never meant.
func (h *holder) noteRefused(r *holdproc.Refused) {
	if r != nil && r.Reason != holdproc.NotWithin {
		h.host.Agent.Note("a pod was not held inside the kubelet: " + r.Text)
	}
}

// add adds a hold of the stopper's whose call is known.
func (h *holder) add(m *meeting) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holds[m.held.Hold] = m
}

// held is that the hold process has parked a goroutine.
func (h *holder) held(r holdproc.Held) {
	at := uprobe.Stop{TID: r.TID, Place: r.Place}
	m := h.meetings.report(at)
	h.mu.Lock()
	m.held, m.process = &r, h.client
	h.holds[r.Hold] = m
	h.mu.Unlock()
	close(m.came)
	time.AfterFunc(h.within, func() {
		if h.meetings.giveUp(at, m) { // nothing was reported of its call
			m.process.LetGo(r.Hold)
		}
	})
}

// refused is that the hold process has let a goroutine pass.
func (h *holder) refused(r holdproc.Refused) {
	at := uprobe.Stop{TID: r.TID, Place: r.Place}
	m := h.meetings.report(at)
	m.refused = &r
	close(m.came)
	time.AfterFunc(h.within, func() { h.meetings.giveUp(at, m) })
}

// ended is that a hold has ended.
func (h *holder) ended(r holdproc.Ended) {
	h.mu.Lock()
	m := h.holds[r.Hold]
	delete(h.holds, r.Hold)
	h.mu.Unlock()
	if m != nil {
		close(m.ended)
	}
}
