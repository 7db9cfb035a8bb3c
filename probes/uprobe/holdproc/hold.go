//go:build linux && (amd64 || arm64)

package holdproc

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/clock"
	"github.com/podstep/podstep/probes/inside"
	"github.com/podstep/podstep/probes/inside/park"
)

// signalled handles a signal that is about to be delivered to a thread. It returns the signal to deliver; 0: none.
func (t *tracer) signalled(tid int, th *thread, signal unix.Signal, began time.Duration) unix.Signal {
	if th.hold == nil && len(t.armed) == 0 {
		return signal
	}
	code, err := signalCode(tid)
	if err != nil {
		return signal
	}
	var regs unix.PtraceRegs
	if err := park.Registers(tid, &regs); err != nil {
		return signal
	}
	if h := th.hold; h != nil {
		switch {
		case h.wait.Interrupted(&regs):
			return t.disturbed(h, signal, code, &regs)
		case h.wait.Begins(&regs):
			h.waits, h.starts = false, began // it begins when the signal's handler has returned
		}
	}
	place, ok := t.armed[t.program.Linked(&regs)]
	switch {
	case !ok:
	case signal == park.Signal && (code == siKernel || code == siTkill):
		// Signals do not queue. If a signal that let this thread's last hold go is still pending, the probe's signal
		// is lost, and the pending one stands for both.
		t.arrived(tid, th, place, &regs, began)
		return 0
	case isPending(t.program.PID, tid, park.Signal):
		// Of several signals the kernel delivers the one with the lowest number first. The handler of the runtime's
		// own signal, which preempts, would make the goroutine go on elsewhere.
		t.arrived(tid, th, place, &regs, began)
	}
	return signal
}

// isPending reports whether a signal is pending for a thread.
func isPending(pid, tid int, signal unix.Signal) bool {
	return park.Pending(fmt.Sprintf("/proc/%d/task/%d", pid, tid), "SigPnd", signal)
}

// arrived handles the arrival of a goroutine that a probe chose at an armed place.
func (t *tracer) arrived(tid int, th *thread, place inside.Place, regs *unix.PtraceRegs, began time.Duration) {
	if th.hold != nil { // that hold has ended, or the thread would not be here
		t.endHold(th.hold, th.hold.howEnded(began))
	}
	refused := inside.Refused{TID: tid, Place: place.Address}
	g, err := t.program.Goroutine(regs)
	if g != nil {
		refused.Goroutine, refused.Functions = g.ID, g.Functions()
	}
	var why *park.RefusedError
	switch {
	case err != nil:
		why = &park.RefusedError{Reason: park.NoGoroutine, Text: err.Error()}
	default:
		if why = place.Refuses(refused.Functions, t.known); why != nil {
			break
		}
		h := &hold{wait: park.Wait{TID: tid, Hold: t.next(), Place: refused.Place, Since: began, Until: began + place.Lease}}
		if why = t.park(th, h, g, regs); why == nil {
			t.reportHold(h, g, refused.Functions, began)
			return
		}
	}
	refused.Reason, refused.Text, refused.At, refused.Stood = why.Reason, why.Text, clock.Now(), park.Now()-began
	t.report(message{Refused: &refused})
}

func (t *tracer) park(th *thread, h *hold, g *park.Goroutine, regs *unix.PtraceRegs) *park.RefusedError {
	if why := t.program.Park(&h.wait, g, regs); why != nil {
		return why
	}
	th.hold, t.holds[h.wait.Hold], h.starts = h, h, park.Now()
	return nil
}

// reportHold reports that a hold has begun, and begins to look for its end.
func (t *tracer) reportHold(h *hold, g *park.Goroutine, functions []string, began time.Duration) {
	now, at := park.Now(), clock.Now()
	t.report(message{Held: &inside.Held{
		Hold: h.wait.Hold, TID: h.wait.TID, G: g.G, Goroutine: g.ID, Place: h.wait.Place, Functions: functions,
		At: at, Until: at.Add(h.wait.Until - now), Stood: now - began,
	}})
	t.lookLater(h, lookEvery)
}
