//go:build linux && amd64

package holdproc

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/uprobe/park"
)

// hold is a goroutine that is parked.
type hold struct {
	wait   park.Wait
	how    End           // how it is about to end, if that is known
	renew  time.Duration // the deadline to which it is to be renewed; 0: it is not
	starts time.Duration // when its thread was last sent to begin to wait, as park.Now
	waits  bool          // and was seen to wait since
}

const (
	// lookEvery is how soon it is looked again whether a hold has begun, or has ended.
	lookEvery = time.Millisecond
	// beginWithin is how long a goroutine may take from its place to its wait: it may have
	// to wait for a processor.
	beginWithin = 5 * time.Second
)

// later has it looked after a hold.
func (t *tracer) later(h *hold, after time.Duration) {
	time.AfterFunc(after, func() { t.post(func() { t.look(h) }) })
}

// look notices whether a hold has ended.
func (t *tracer) look(h *hold) {
	now, over := park.Now(), h.wait.Over()
	switch {
	case t.holds[h.wait.Hold] != h:
	case !over && h.how == LetGo:
		t.stop(h)
	case h.renew != 0:
		t.stop(h)
	case !over:
		h.waits = true
		t.later(h, max(lookEvery, h.wait.Until-now+lookEvery/4))
	case h.begins(now):
		t.later(h, lookEvery)
	case now < h.wait.Until:
		t.stop(h) // it may as well handle a signal just now, of which it is to be asked
	default:
		t.end(h, h.over(now))
	}
}

// begins reports whether the thread may be on its way to its wait.
func (h *hold) begins(now time.Duration) bool {
	return !h.waits && now-h.starts < beginWithin && now < h.wait.Until
}

// over is how a hold ended that is over by now.
func (h *hold) over(now time.Duration) End {
	switch {
	case h.how != "":
		return h.how
	case now >= h.wait.Until:
		return LeaseOver
	}
	return Interrupted
}

func (t *tracer) end(h *hold, how End) {
	delete(t.holds, h.wait.Hold)
	if th := t.threads[h.wait.TID]; th != nil && th.hold == h {
		th.hold = nil
	}
	t.report(message{Ended: &Ended{Hold: h.wait.Hold, How: how, At: time.Now()}})
}

// disturbed handles a signal to a thread that was interrupted by it while its goroutine
// waits. The one that lets go, to this very thread, ends the wait. Others are those that no
// thread blocks, and are delivered.
func (t *tracer) disturbed(h *hold, signal unix.Signal, code int32, regs *unix.PtraceRegs) unix.Signal {
	h.waits = true
	switch {
	case signal == park.Signal && code == siTkill:
		h.how = LetGo
		t.later(h, lookEvery/4)
	default:
		t.again(h, regs)
	}
	return signal
}

// again has an interrupted thread begin to wait once more. The kernel would by itself, but it
// would add the time that the thread stood still.
func (t *tracer) again(h *hold, regs *unix.PtraceRegs) {
	if h.wait.Again(regs) == nil {
		h.waits, h.starts = false, park.Now()
	}
	t.later(h, lookEvery)
}

// letGo ends a hold, or all with 0.
func (t *tracer) letGo(id uint64) {
	for _, h := range t.holds {
		if id == 0 || h.wait.Hold == id {
			h.how = LetGo
			t.stop(h)
		}
	}
}

// extend has a hold last until a later time, or an earlier one.
func (t *tracer) extend(id uint64, until time.Duration) {
	if h := t.holds[id]; h != nil && h.how == "" {
		h.renew = until
		t.stop(h)
	}
}

// stop has a hold's thread stand still, for stood.
func (t *tracer) stop(h *hold) { _ = ptrace(unix.PTRACE_INTERRUPT, h.wait.TID, 0, 0) }

// stood is that a held thread stands still without a signal, as stop wants it: whether its
// goroutine waits is certain then.
func (t *tracer) stood(tid int, h *hold) {
	var regs unix.PtraceRegs
	if err := unix.PtraceGetRegs(tid, &regs); err != nil {
		return
	}
	now := park.Now()
	switch waits := h.wait.Interrupted(&regs); {
	case waits && h.how == LetGo:
		if h.wait.End(&regs) == nil {
			t.end(h, LetGo)
			return
		}
		t.later(h, lookEvery)
	case waits:
		if h.renew != 0 {
			h.wait.Until, h.renew = h.renew, 0
		}
		t.again(h, &regs)
	case h.begins(now):
		t.later(h, lookEvery)
	default:
		t.end(h, h.over(now))
	}
}
