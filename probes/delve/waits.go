//go:build linux && amd64

package delve

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/uprobe/park"
)

// A parked goroutine waits in the kubelet by itself, while Delve has the kubelet stand still and go
// on: whether it still does is found out here, and it is let go or has to wait for longer.

// lookEvery is how often it is looked whether a goroutine still waits.
const lookEvery = 250 * time.Millisecond

// mostBetween is how often a thread is found between its wait and its goroutine before the
// hold is taken to have ended: one that nobody needs sleeps there.
const mostBetween = 8

// watch notices that a parked goroutine has gone on.
func (p *process) watch(w park.Wait) {
	looks := 0
	for began := park.Now(); ; {
		time.Sleep(lookEvery)
		running := p.isRunning()
		if !w.Over() {
			began, looks = park.Now(), 0
			continue
		}
		// A thread that has yet to begin its wait waits as little as one that has ended it.
		if running && park.Now()-began > 2*lookEvery {
			looks++
			if p.endUnlessWaits(w.Hold, looks) {
				return
			}
			began = park.Now()
		}
	}
}

// endUnlessWaits ends a hold whose goroutine does not wait any more, and reports whether that
// is so. The kubelet stands still for it: each stop interrupts the wait, and on a busy machine a
// thread may be seen between two stops only, before it waits again. looks is how often it was
// looked before.
func (p *process) endUnlessWaits(number uint64, looks int) bool {
	ended := make(chan bool, 1)
	p.do(func() {
		h := p.holds[number]
		if h != nil {
			if _, phase := p.phase(h); phase == park.Waiting || phase == park.Between && looks < mostBetween {
				ended <- false
				return
			}
			p.end(h, howEnded(h))
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

// phase is how far the thread of a parked goroutine is with its wait, and the thread's registers.
// The kubelet stands still.
func (p *process) phase(h *hold) (*unix.PtraceRegs, park.Phase) {
	regs, err := p.target.own.regs(h.TID)
	if err != nil {
		return nil, park.Ended
	}
	return regs, p.target.own.program.Phase(&h.wait, h.G, regs)
}

const (
	// settleEvery and settleTries are how often, and how many times at most, it is looked again
	// whether a thread waits that is about to.
	settleEvery = 20 * time.Millisecond
	settleTries = 100
)

// settled has something done for a hold when its thread waits or has gone on, and the kubelet
// stands still.
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

// endWait ends the wait of a parked goroutine while the kubelet stands still. No signal is sent
// for it unless it waits on: one that comes late would end the next wait of that thread.
func (p *process) endWait(h *hold) {
	regs, err := p.target.own.regs(h.TID)
	if err == nil && h.wait.Interrupted(regs) {
		err = h.wait.End(regs)
	} else if err == nil {
		err = h.wait.Expire(regs)
	}
	wait := h.wait
	go func() {
		if err == nil {
			time.Sleep(letGoLate)
			if wait.Over() {
				return
			}
		}
		letGo(wait)
	}()
}

const (
	// beginsWithin is how long a thread may take to begin its wait, on a machine that is busy,
	// and signalEvery how often it is signalled that still waits.
	beginsWithin = 2 * time.Second
	// letGoLate is how long a goroutine may go on waiting before it is signalled.
	letGoLate   = time.Second
	signalEvery = 5 * time.Millisecond
)

// letGo ends the wait of a parked goroutine, or has it end as soon as it begins. The kubelet
// has to run for that.
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

// renew has a hold last.
func (p *process) renew(number uint64) {
	h := p.holds[number]
	if h == nil || h.Whole || h.over {
		return
	}
	regs, phase := p.phase(h)
	if phase != park.Waiting {
		return
	}
	h.wait.Until, h.Until = park.Now()+lease, time.Now().Add(lease)
	if err := h.wait.Again(regs); err != nil {
		p.note("a pod that is held goes on in %v at the latest: %v", lease, err)
	}
}
