//go:build linux && amd64

package delve

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/clock"
	"github.com/podstep/podstep/probes/inside/park"
)

// A parked goroutine waits in the kubelet by itself, while Delve makes the kubelet stand still and go on. The code
// here finds out whether it still waits, lets it go, and makes it wait longer.

// lookEvery is how often watch looks whether a goroutine still waits.
const lookEvery = 250 * time.Millisecond

// mostBetween bounds how often a thread is found between its wait and its goroutine. Then the hold is taken to have
// ended: a thread that the runtime does not need sleeps there.
const mostBetween = 8

// watch ends the hold of a parked goroutine when the goroutine has gone on.
func (p *process) watch(w park.Wait) {
	looks := 0
	for began := park.Now(); ; {
		time.Sleep(lookEvery)
		running := p.isRunning()
		if !w.Over() {
			began, looks = park.Now(), 0
			continue
		}
		// A thread that has yet to begin its wait looks like one that has ended it.
		if running && park.Now()-began > 2*lookEvery {
			looks++
			if p.endUnlessWaits(w.Hold, looks) {
				return
			}
			began = park.Now()
		}
	}
}

// endUnlessWaits ends a hold whose goroutine waits no more, and reports whether it has. The kubelet stands still for
// that. Each stop interrupts the wait, so on a busy machine a thread may be seen only between two stops, before it
// waits again. looks counts the calls for this wait.
func (p *process) endUnlessWaits(number uint64, looks int) bool {
	ended := make(chan bool, 1)
	p.do(func() {
		h := p.holds[number]
		if h != nil {
			if _, phase := p.phase(h); phase == park.Waiting || phase == park.Between && looks < mostBetween {
				ended <- false
				return
			}
			p.endHold(h, howEnded(h))
		}
		ended <- true
	})
	select {
	case is := <-ended:
		return is
	case <-p.ended:
		return true
	}
}

// phase returns how far the thread of a parked goroutine is with its wait, and the thread's registers. The kubelet
// stands still.
func (p *process) phase(h *hold) (*unix.PtraceRegs, park.Phase) {
	regs, err := p.target.own.regs(h.TID)
	if err != nil {
		return nil, park.Ended
	}
	return regs, p.target.own.program.Phase(&h.wait, h.G, regs)
}

const (
	// A thread that is about to wait is looked at again every settleEvery, at most settleTries times.
	settleEvery = 20 * time.Millisecond
	settleTries = 100
)

// settled calls what when a hold's thread waits or has gone on. The kubelet stands still then.
func (p *process) settled(tries int, find func() *hold, what func()) {
	p.do(func() {
		if h := find(); tries > 0 && h != nil && !h.Whole && !h.over {
			if _, phase := p.phase(h); phase == park.Between {
				time.AfterFunc(settleEvery, func() { p.settled(tries-1, find, what) })
				return
			}
		}
		what()
	})
}

// endWait ends the wait of a parked goroutine while the kubelet stands still. It sends a signal only if the goroutine
// waits on: a late signal would end the thread's next wait.
func (p *process) endWait(h *hold) {
	regs, err := p.target.own.regs(h.TID)
	if err == nil && h.wait.Interrupted(regs) {
		err = h.wait.End(regs)
	} else if err == nil {
		err = h.wait.Reset(regs, 0)
	}
	wait := h.wait
	p.spawn(func() {
		if err == nil {
			time.Sleep(letGoLate)
			if wait.Over() {
				return
			}
		}
		letGo(wait)
	})
}

const (
	// beginsWithin is how long a thread may take to begin its wait on a busy machine. A thread that still waits is
	// signalled every signalEvery.
	beginsWithin = 2 * time.Second
	// letGoLate is how long a goroutine may go on waiting before it is signalled.
	letGoLate   = time.Second
	signalEvery = 5 * time.Millisecond
)

// letGo ends the wait of a parked goroutine, also one that is about to begin. The kubelet has to run for that.
func letGo(w park.Wait) {
	seen := false
	for began := time.Now(); seen || time.Since(began) < beginsWithin; time.Sleep(signalEvery) {
		switch {
		case !w.Over():
			seen = true
			if w.Interrupt() != nil {
				return
			}
		case seen:
			return
		}
	}
}

// renew makes a hold last for another lease.
func (p *process) renew(number uint64) {
	h := p.holds[number]
	if h == nil || h.Whole || h.over {
		return
	}
	regs, phase := p.phase(h)
	if phase != park.Waiting {
		return
	}
	h.wait.Until, h.Until = park.Now()+lease, clock.Now().Add(lease)
	if err := h.wait.Again(regs); err != nil {
		p.note("a pod that is held goes on in %v at the latest: %v", lease, err)
	}
}
