package attach

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/podstep/podstep/agent"
	"github.com/podstep/podstep/probes/clock"
	"github.com/podstep/podstep/probes/inside"
	"github.com/podstep/podstep/probes/uprobe"
)

// meetings bring the two halves of stops together: the report of the program in the kernel about the call, and that
// of the hold process. Each half comes by its own way, in the order of the stops of its goroutine. One of them may not
// come at all. The zero value is ready.
type meetings struct {
	mu      sync.Mutex
	waiting map[stopKey][]*meeting // meetings of which one half has come, the oldest first
}

// stopKey has what both halves of a stop know of it: who stopped, and where.
type stopKey struct {
	tid              int
	place, goroutine uint64
}

func keyOf(at uprobe.Stop) stopKey { return stopKey{at.TID, at.Place, at.Goroutine} }

// meeting is one stop of a thread, with its two halves.
type meeting struct {
	came    chan struct{} // closed when the hold process has reported
	held    *inside.Held
	refused *inside.Refused
	process stopper       // the one that holds the goroutine
	ended   chan struct{} // closed when the hold has ended

	// Under mu of meetings: which halves have come, and the time that the first of them states.
	seen, reported bool
	at             clock.Time
}

// see returns the meeting of a stop that the program in the kernel has reported. The hold process reports the stop
// after the time of at, and before the goroutine can stop once more: so it is the first report after that time.
func (ms *meetings) see(at uprobe.Stop) *meeting {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for _, m := range ms.waiting[keyOf(at)] {
		if m.reported && m.at >= at.At {
			m.seen = true
			ms.drop(at, m)
			return m
		}
	}
	m := ms.wait(at)
	m.seen = true
	return m
}

// report returns the meeting of a stop that the hold process has reported, at the time of at. It is the last stop that
// was seen before that time: of an earlier one the report has not come, since the signal was lost.
func (ms *meetings) report(at uprobe.Stop) *meeting {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for _, m := range slices.Backward(ms.waiting[keyOf(at)]) {
		if m.seen && m.at <= at.At {
			m.reported = true
			ms.drop(at, m)
			return m
		}
	}
	m := ms.wait(at)
	m.reported = true
	return m
}

// wait adds a meeting that waits for its other half. The caller has mu.
func (ms *meetings) wait(at uprobe.Stop) *meeting {
	m := &meeting{came: make(chan struct{}), ended: make(chan struct{}), at: at.At}
	if ms.waiting == nil {
		ms.waiting = map[stopKey][]*meeting{}
	}
	ms.waiting[keyOf(at)] = append(ms.waiting[keyOf(at)], m)
	return m
}

// giveUp ends the wait for a meeting's other half. It returns false if that half has come.
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
	key := keyOf(at)
	ms.waiting[key] = slices.DeleteFunc(ms.waiting[key], func(o *meeting) bool { return o == m })
	if len(ms.waiting[key]) == 0 {
		delete(ms.waiting, key)
	}
}

// stopped handles the report of the program in the kernel that it has asked for a stop of a call. stop asks the agent
// whether the stop is wanted, and returns when the call is to go on.
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

// hold holds the goroutine until stop returns, and then lets it go.
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
			case <-m.ended: // the hold ended by itself: stop is to return
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

// during makes the context of a hold, which ends with the probe.
func (h *holder) during(m *meeting) (context.Context, context.CancelFunc) {
	if m.held.Whole {
		return agent.Standstill(h.host.Context(), m.held.Until.Time())
	}
	return context.WithCancel(h.host.Context())
}

// noteRefused notes why a pod was not held. It notes nothing of a goroutine of another kind: nobody meant that one.
func (h *holder) noteRefused(r *inside.Refused) {
	if r != nil && r.Reason != inside.NotWithin {
		h.host.Agent.Note("a pod was not held inside the kubelet: " + r.Text)
	}
}

// addHold adds a hold of the stopper whose call is known.
func (h *holder) addHold(m *meeting) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.holds[m.held.Hold] = m
}

// held handles the hold process's report that it parked a goroutine.
func (h *holder) held(r inside.Held) {
	at := uprobe.Stop{TID: r.TID, Place: r.Place, Goroutine: r.Goroutine, At: r.At}
	m := h.meetings.report(at)
	h.mu.Lock()
	m.held, m.process = &r, h.client
	h.holds[r.Hold] = m
	h.mu.Unlock()
	close(m.came)
	time.AfterFunc(h.within, func() {
		if h.meetings.giveUp(at, m) { // the call was not reported
			m.process.LetGo(r.Hold)
		}
	})
}

// refused handles the hold process's report that it let a goroutine pass. If the report does not say which one, it
// meets no call.
func (h *holder) refused(r inside.Refused) {
	if r.Goroutine == 0 {
		h.noteRefused(&r)
		return
	}
	at := uprobe.Stop{TID: r.TID, Place: r.Place, Goroutine: r.Goroutine, At: r.At}
	m := h.meetings.report(at)
	m.refused = &r
	close(m.came)
	time.AfterFunc(h.within, func() { h.meetings.giveUp(at, m) })
}

// ended handles the hold process's report that a hold has ended.
func (h *holder) ended(r inside.Ended) {
	h.mu.Lock()
	m := h.holds[r.Hold]
	delete(h.holds, r.Hold)
	h.mu.Unlock()
	if m != nil {
		close(m.ended)
	}
}
