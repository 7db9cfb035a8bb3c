//go:build linux && amd64

package delve

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/uprobe"
	"github.com/podstep/podstep/probes/uprobe/holdproc"
	"github.com/podstep/podstep/probes/uprobe/park"
)

// stopLimit is how long the whole kubelet is stopped at most for somebody who holds a pod, and
// restLimit how long it runs then before it is stopped again. A node's lease is renewed every 10 s,
// and over after 40 s.
const stopLimit, restLimit = 8 * time.Second, 12 * time.Second

// hold is a goroutine that is held.
type hold struct {
	Held
	wait     park.Wait        // if its goroutine is parked
	regs     *unix.PtraceRegs // which it had before
	reported bool             // podstep knows of it
	over     bool             // it is to go on
}

// hold has a goroutine be held that stands at a place. Its record is marked if it is.
func (p *process) hold(tid int, r *uprobe.Record, place int) (held bool) {
	p.endOf(r.G)
	at := p.reading.Places[place]
	h := &hold{Held: Held{Held: holdproc.Held{
		Hold: p.number + 1, TID: tid, G: r.G, Goroutine: r.Goid, Place: at.Linked, At: time.Now(),
	}}}
	switch why, allowed := p.park(h, at.Linked); {
	case !allowed:
		return false
	case why != "":
		if rests := restLimit - time.Since(p.rested); rests > 0 {
			p.note("a pod was not held: the whole kubelet would have to stand still (%s), and it has to run for %v first", why, rests.Round(time.Second))
			return false
		}
		h.Whole, h.Why, h.Until = true, why, h.At.Add(stopLimit)
	default:
		h.Until = h.At.Add(lease)
		go p.watch(h.wait)
	}
	p.begins(h)
	r.Signalled()
	return true
}

// begins notes that a hold has begun.
func (p *process) begins(h *hold) {
	p.number++
	p.holds[h.Hold] = h
}

// endOf ends the hold of a goroutine that is at another place: it has gone on.
func (p *process) endOf(g uint64) {
	for _, h := range p.holds {
		if h.G == g {
			p.end(h, howEnded(h))
		}
	}
}

// park has the goroutine of a hold wait alone. why is why it cannot, empty: it does. allowed
// is false if it is not one that may be held there at all.
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
	if rule, ok := p.rules[place]; !ok || !rule.Allows(h.Functions, p.notWithin) {
		return "", false // without a rule nothing shows whose goroutine it is
	}
	return text(p.parkNow(h, place, g, regs)), true
}

// parkNow has the goroutine wait where its thread stands with these registers.
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

func howEnded(h *hold) holdproc.End {
	switch {
	case h.over:
		return holdproc.LetGo
	case !h.Until.After(time.Now()):
		return holdproc.LeaseOver
	}
	return holdproc.Interrupted
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

// letGo has a hold end.
func (p *process) letGo(number uint64) {
	h := p.holds[number]
	switch {
	case h == nil:
	case h.Whole:
		p.end(h, holdproc.LetGo)
	case !h.over:
		h.over = true
		p.endWait(h)
	}
}

// end ends a hold: the goroutine goes on when the kubelet does.
func (p *process) end(h *hold, how holdproc.End) {
	delete(p.holds, h.Hold)
	if h.Whole {
		p.rested = time.Now()
	}
	p.link.Send(message{Ended: &holdproc.Ended{Hold: h.Hold, How: how, At: time.Now()}})
}

// wait waits as long as the whole kubelet is to stand still, and does meanwhile what podstep
// asks for.
func (p *process) wait() {
	for !p.leaving {
		until, ok := p.stoppedUntil()
		if !ok {
			return
		}
		select {
		case <-p.kick:
			p.take()
		case <-time.After(time.Until(until)):
			for _, h := range p.holds {
				if h.Whole && !h.Until.After(time.Now()) {
					p.end(h, holdproc.LeaseOver)
				}
			}
		}
	}
}

// stoppedUntil is until when the whole kubelet is to stand still, if it is.
func (p *process) stoppedUntil() (until time.Time, ok bool) {
	for _, h := range p.holds {
		if h.Whole && (!ok || h.Until.Before(until)) {
			until, ok = h.Until, true
		}
	}
	return until, ok
}
