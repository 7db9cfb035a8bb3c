//go:build linux && amd64

package delve

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/clock"
	"github.com/podstep/podstep/probes/inside"
	"github.com/podstep/podstep/probes/inside/park"
	"github.com/podstep/podstep/probes/inside/reading"
)

// hold is a goroutine that is held.
type hold struct {
	Held
	wait     park.Wait        // of a parked goroutine
	regs     *unix.PtraceRegs // its registers before it was parked
	reported bool             // podstep knows of it
	over     bool             // it was let go
}

// holdThread holds the goroutine at this place and, if that worked, marks its record.
func (p *process) holdThread(tid int, r *reading.Record, place int) (held bool) {
	p.endOf(r.G)
	at := p.plan.Places[place]
	h := &hold{Held: Held{Held: inside.Held{
		Hold: p.number + 1, TID: tid, G: r.G, Goroutine: r.Goid, Place: at.Linked, At: clock.Now(),
	}}}
	switch why, allowed := p.park(h, at.Linked); {
	case !allowed:
		return false
	case why != "":
		limit, refused := p.mayStop(h.At)
		if refused != "" {
			p.note("a pod was not held: the whole kubelet would have to stand still (%s), and %s", why, refused)
			return false
		}
		h.Whole, h.Why, h.Until = true, why, h.At.Add(limit)
	default:
		h.Until = h.At.Add(lease)
		p.spawn(func() { p.watch(h.wait) })
	}
	p.addHold(h)
	r.Signal()
	return true
}

// mayStop returns how long the whole kubelet may be stopped from now on, or why it may not be stopped.
func (p *process) mayStop(now clock.Time) (limit time.Duration, refused string) {
	if rests := restLimit - time.Since(p.rested); rests > 0 {
		return 0, fmt.Sprintf("it has to run for %v first", rests.Round(time.Second))
	}
	return p.bounds.Load().LongestStop(now)
}

// addHold numbers a hold that has begun, and keeps it.
func (p *process) addHold(h *hold) {
	p.number++
	p.holds[h.Hold] = h
}

// endOf ends the hold of a goroutine that came to another place, so has gone on.
func (p *process) endOf(g uint64) {
	for _, h := range p.holds {
		if h.G == g {
			p.endHold(h, howEnded(h))
		}
	}
}

// park makes the goroutine of a hold wait alone. If it cannot, why is the reason; otherwise why is empty. allowed is
// false if the place's rule does not allow the goroutine to be held.
func (p *process) park(h *hold, place uint64) (why string, allowed bool) {
	own := p.target.own
	switch {
	case own == nil:
		return "a headless Delve sets no registers", true
	case own.why != nil:
		return own.why.Error(), true
	}
	known, refused := own.program.Place(place)
	if refused != nil {
		return refused.Error(), true
	}
	regs, err := p.target.stepTo(h.TID, known.Next)
	if err != nil {
		return err.Error(), true
	}
	g, err := own.program.Goroutine(regs)
	if err != nil {
		return err.Error(), true
	}
	h.Functions = g.Functions()
	rule, ok := p.rules[place]
	if !ok {
		return "", false // nothing shows whose goroutine it is
	}
	if refused := rule.Refuses(h.Functions, inside.Known{NotWithin: p.notWithin, Packages: p.options.Lines.Packages}); refused != nil {
		if refused.Reason != inside.NotWithin { // otherwise nobody meant this goroutine
			p.noteOnce("not held: %v", refused)
		}
		return "", false
	}
	return text(p.parkNow(h, place, g, regs)), true
}

// parkNow makes the goroutine wait where its thread stands with these registers.
func (p *process) parkNow(h *hold, place uint64, g *park.Goroutine, regs *unix.PtraceRegs) error {
	before := *regs
	h.regs = &before
	now := park.Now()
	h.wait = park.Wait{TID: h.TID, Hold: h.Hold, Place: place, Since: now, Until: now + lease}
	if refused := p.target.own.program.Park(&h.wait, g, regs); refused != nil {
		return refused
	}
	return nil
}

func (p *process) note(format string, args ...any) {
	p.link.Send(message{Note: fmt.Sprintf(format, args...)})
}

func howEnded(h *hold) inside.End {
	switch {
	case h.over:
		return inside.LetGo
	case h.Until <= clock.Now():
		return inside.LeaseOver
	}
	return inside.Interrupted
}

// announce sends podstep the holds that have begun, after the records of their calls.
func (p *process) announce() {
	for _, h := range p.holds {
		if !h.reported {
			h.reported = true
			held := h.Held
			p.link.Send(message{Held: &held})
		}
	}
}

// letGo lets a held goroutine go.
func (p *process) letGo(number uint64) {
	h := p.holds[number]
	switch {
	case h == nil:
	case h.Whole:
		p.endHold(h, inside.LetGo)
	case !h.over:
		h.over = true
		p.endWait(h)
	}
}

// endHold ends a hold and reports that. The goroutine goes on when the kubelet does.
func (p *process) endHold(h *hold, how inside.End) {
	delete(p.holds, h.Hold)
	if h.Whole {
		p.rested = time.Now()
	}
	p.link.Send(message{Ended: &inside.Ended{Hold: h.Hold, How: how, At: clock.Now()}})
}

// waitStopped waits for as long as a hold keeps the whole kubelet stopped. Meanwhile it does what podstep asks for.
func (p *process) waitStopped() {
	for !p.leaving {
		until, ok := p.stoppedUntil()
		if !ok {
			return
		}
		select {
		case <-p.kick:
			p.runRequests()
		case <-time.After(until.Sub(clock.Now())):
			for _, h := range p.holds {
				if h.Whole && h.Until <= clock.Now() {
					p.endHold(h, inside.LeaseOver)
				}
			}
		}
	}
}

// stoppedUntil returns until when a hold keeps the whole kubelet stopped. ok is false if none does.
func (p *process) stoppedUntil() (until clock.Time, ok bool) {
	for _, h := range p.holds {
		if h.Whole && (!ok || h.Until < until) {
			until, ok = h.Until, true
		}
	}
	return until, ok
}
