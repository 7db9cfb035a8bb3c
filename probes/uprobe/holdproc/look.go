//go:build linux && (amd64 || arm64)

package holdproc

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/clock"
	"github.com/podstep/podstep/probes/inside"
	"github.com/podstep/podstep/probes/inside/park"
)

// hold is a goroutine that is parked.
type hold struct {
	wait   park.Wait
	how    inside.End    // how it is about to end; empty: not known
	renew  time.Duration // the deadline to set; 0: none
	starts time.Duration // when its thread was last made to begin its wait, by park.Now
	waits  bool          // its thread was seen to wait since
}

const (
	// lookEvery is how soon a hold is looked at again: whether it has begun, or has ended.
	lookEvery = time.Millisecond
	// A goroutine may have to wait for a processor before it comes to its wait. After seldomAfter it is looked at
	// every seldomEvery.
	seldomAfter, seldomEvery = time.Second, 50 * time.Millisecond
)

// lookLater looks at a hold after a while.
func (t *tracer) lookLater(h *hold, after time.Duration) {
	time.AfterFunc(after, func() { t.post(func() { t.look(h) }) })
}

// look finds out whether a hold has ended.
func (t *tracer) look(h *hold) {
	now, over := park.Now(), h.wait.Over()
	switch {
	case t.holds[h.wait.Hold] != h:
	case !over && h.how == inside.LetGo:
		t.stop(h)
	case h.renew != 0:
		t.stop(h)
	case !over:
		h.waits = true
		t.lookLater(h, max(lookEvery, h.wait.Until-now+lookEvery/4))
	case h.begins(now) && now-h.starts < seldomAfter:
		t.lookLater(h, lookEvery)
	case h.begins(now):
		t.lookLater(h, seldomEvery)
	case now < h.wait.Until:
		t.stop(h) // it may handle a signal just now: stood finds out
	case !h.waits: // it may still be on its way, and would wait from then on
		t.stop(h)
		t.lookLater(h, seldomEvery)
	default:
		t.endHold(h, h.howEnded(now))
	}
}

// begins reports whether the thread may be on its way to its wait.
func (h *hold) begins(now time.Duration) bool { return !h.waits && now < h.wait.Until }

// howEnded returns how a hold ended that is over by now.
func (h *hold) howEnded(now time.Duration) inside.End {
	switch {
	case h.how != "":
		return h.how
	case now >= h.wait.Until:
		return inside.LeaseOver
	}
	return inside.Interrupted
}

func (t *tracer) endHold(h *hold, how inside.End) {
	delete(t.holds, h.wait.Hold)
	if th := t.threads[h.wait.TID]; th != nil && th.hold == h {
		th.hold = nil
	}
	t.report(message{Ended: &inside.Ended{Hold: h.wait.Hold, How: how, At: clock.Now()}})
}

// disturbed handles a signal that interrupted a thread while its goroutine waits. park.Signal, sent by a process to
// this thread, ends the wait. All others are signals that no thread blocks; they are delivered, and the thread waits
// again.
func (t *tracer) disturbed(h *hold, signal unix.Signal, code int32, regs *unix.PtraceRegs) unix.Signal {
	h.waits = true
	switch {
	case signal == park.Signal && code == siTkill:
		h.how = inside.LetGo
		t.lookLater(h, lookEvery/4)
	default:
		t.waitAgain(h, regs)
	}
	return signal
}

// waitAgain makes an interrupted thread begin its wait once more. The kernel would do so by itself, but would add the
// time that the thread stood still.
func (t *tracer) waitAgain(h *hold, regs *unix.PtraceRegs) {
	if h.wait.Again(regs) == nil {
		h.waits, h.starts = false, park.Now()
	}
	t.lookLater(h, lookEvery)
}

// letGo ends a hold, or with 0 all holds.
func (t *tracer) letGo(id uint64) {
	for _, h := range t.holds {
		if id == 0 || h.wait.Hold == id {
			h.how = inside.LetGo
			t.stop(h)
		}
	}
}

// extend makes a hold last until another time, later or earlier.
func (t *tracer) extend(id uint64, until time.Duration) {
	if h := t.holds[id]; h != nil && h.how == "" {
		h.renew = until
		t.stop(h)
	}
}

// stop makes a hold's thread stand still. stood then handles it.
func (t *tracer) stop(h *hold) { _ = unix.PtraceInterrupt(h.wait.TID) }

// stood handles a held thread that stands still without a signal, as stop makes it. Only then is it certain whether
// its goroutine waits.
func (t *tracer) stood(tid int, h *hold) {
	var regs unix.PtraceRegs
	if err := park.Registers(tid, &regs); err != nil {
		return
	}
	now := park.Now()
	switch waits := h.wait.Interrupted(&regs); {
	case waits && h.how == inside.LetGo:
		if h.wait.End(&regs) == nil {
			t.endHold(h, inside.LetGo)
			return
		}
		t.lookLater(h, lookEvery)
	case waits:
		if h.renew != 0 {
			h.wait.Until, h.renew = h.renew, 0
		}
		t.waitAgain(h, &regs)
	case h.begins(now):
		t.onItsWay(h, &regs)
	default:
		if !h.waits { // if it is still on its way, it is not to wait any more
			_ = h.wait.Reset(&regs, 0)
		}
		t.endHold(h, h.howEnded(now))
	}
}

// onItsWay handles a held thread that has yet to begin its wait. What is wanted of the wait is done there and then: to stop
// the thread again until it has begun may keep it from that for ever, where processors are scarce.
func (t *tracer) onItsWay(h *hold, regs *unix.PtraceRegs) {
	switch {
	case h.how == inside.LetGo:
		_ = h.wait.Reset(regs, 0)
	case h.renew != 0 && h.wait.Reset(regs, h.renew) == nil:
		h.renew = 0
	}
	t.lookLater(h, lookEvery)
}
