//go:build linux && amd64

package holdproc

import (
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/uprobe/park"
)

// signalled handles a signal that is about to be delivered to a thread. It returns the one
// that is to be delivered.
func (t *tracer) signalled(tid int, th *thread, signal unix.Signal, began time.Duration) unix.Signal {
	if th.hold == nil && len(t.armed) == 0 {
		return signal
	}
	code, err := signalCode(tid)
	if err != nil {
		return signal
	}
	var regs unix.PtraceRegs
	if err := unix.PtraceGetRegs(tid, &regs); err != nil {
		return signal
	}
	if h := th.hold; h != nil {
		switch {
		case h.wait.Interrupted(&regs):
			return t.disturbed(h, signal, code, &regs)
		case h.wait.Begins(&regs):
			h.waits, h.starts = false, began // when the signal's handler has returned
		}
	}
	place, ok := t.armed[t.program.Linked(&regs)]
	switch {
	case !ok:
	case signal == park.Signal && (code == siKernel || code == siTkill):
		// Signals do not queue: where one that let the last hold of this thread go is pending
		// still, that of the probe is lost, and this one stands for both.
		t.arrived(tid, th, place, &regs, began)
		return 0
	case isPending(t.program.PID, tid, park.Signal):
		// Of several signals the kernel delivers that of the lowest number first, and the
		// handler of the runtime's own, which preempts, has the goroutine go on elsewhere.
		t.arrived(tid, th, place, &regs, began)
	}
	return signal
}

// isPending reports whether a thread has a signal still to come.
func isPending(pid, tid int, signal unix.Signal) bool {
	return park.Pending(fmt.Sprintf("/proc/%d/task/%d", pid, tid), "SigPnd", signal)
}

// arrived is that a goroutine came to an armed place, and a probe chose it.
func (t *tracer) arrived(tid int, th *thread, place Place, regs *unix.PtraceRegs, began time.Duration) {
	if th.hold != nil { // it has ended, or the thread would not be here
		t.end(th.hold, th.hold.over(began))
	}
	refused := Refused{TID: tid, Place: place.Address}
	g, err := t.program.Goroutine(regs)
	if g != nil {
		refused.Functions = g.Functions()
	}
	var why *park.RefusedError
	switch {
	case err != nil:
		why = &park.RefusedError{Reason: park.NoGoroutine, Text: err.Error()}
	case !place.Allows(refused.Functions, t.notWithin):
		why = &park.RefusedError{Reason: NotWithin, Text: "the goroutine is not one that may be held there"}
	default:
		h := &hold{wait: park.Wait{TID: tid, Hold: t.next(), Place: refused.Place, Since: began, Until: began + place.Lease}}
		if why = t.park(th, h, g, regs); why == nil {
			t.begin(h, g, refused.Functions, began)
			return
		}
	}
	refused.Reason, refused.Text, refused.At, refused.Stood = why.Reason, why.Text, time.Now(), park.Now()-began
	t.report(message{Refused: &refused})
}

func (t *tracer) park(th *thread, h *hold, g *park.Goroutine, regs *unix.PtraceRegs) *park.RefusedError {
	if why := t.program.Park(&h.wait, g, regs); why != nil {
		return why
	}
	th.hold, t.holds[h.wait.Hold], h.starts = h, h, park.Now()
	return nil
}

// Allows reports whether a goroutine with these functions under way may be held here. The
// first is the place's own, which may well be one in which others are not held: at its entry
// it has done nothing yet, and at its exit it has.
func (p Place) Allows(functions []string, notWithin map[string]bool) bool {
	forbids := func(f string) bool { return notWithin[f] || slices.Contains(p.NotWithin, f) }
	if len(p.Within) == 0 {
		return !slices.ContainsFunc(functions, forbids)
	}
	for i, f := range functions {
		if slices.Contains(p.Within, f) {
			return true
		}
		if i > 0 && forbids(f) {
			return false
		}
	}
	return false
}

// begin reports a hold, and has its end be noticed.
func (t *tracer) begin(h *hold, g *park.Goroutine, functions []string, began time.Duration) {
	now, at := park.Now(), time.Now()
	t.report(message{Held: &Held{
		Hold: h.wait.Hold, TID: h.wait.TID, G: g.G, Goroutine: g.ID, Place: h.wait.Place, Functions: functions,
		At: at, Until: at.Add(h.wait.Until - now), Stood: now - began,
	}})
	t.later(h, lookEvery)
}
