//go:build linux && amd64

package delve

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/podstep/podstep/probes/clock"
	"github.com/podstep/podstep/probes/inside"
	"github.com/podstep/podstep/probes/inside/park"
	"github.com/podstep/podstep/probes/inside/reading"
)

// Besides at steps, a goroutine is held at lines: at those of breakpoints, and at the next line if it goes on by
// line. For that there are breakpoints at the lines to which it can come next, while all other goroutines run. Others
// that come there are let go at once.

// lineStep is a goroutine that goes on by line.
type lineStep struct {
	// at are the addresses at which the goroutine is held next. calls are the addresses of calls: it is followed into
	// the called functions.
	at, calls map[uint64]bool
	// depth is the depth of the frame that the goroutine has left. With within, it is not held in a deeper frame.
	depth  uint64
	within bool
	// strangers counts the times that other goroutines came to these addresses.
	strangers int
}

// mostStrangers bounds how often other goroutines may come to the places of a step by line. The kubelet stands still
// each time.
const mostStrangers = 2000

// nesting has, by goroutine, the pods of the steps that are under way on it, the innermost last.
type nesting map[uint64][]podAt

type podAt struct {
	depth uint64
	uid   string
}

// mostNested bounds the goroutines in a nesting.
const mostNested = 1 << 14

// update notes that a goroutine begins or ends a step, by the record of the step's place.
func (n nesting) update(r *reading.Record, exit bool) {
	open := n[r.Goid]
	for len(open) > 0 && open[len(open)-1].depth >= r.Depth {
		open = open[:len(open)-1]
	}
	if !exit {
		uid := r.UID()
		if uid == "" && len(open) > 0 {
			uid = open[len(open)-1].uid
		}
		open = append(open, podAt{r.Depth, uid})
	}
	if len(open) == 0 {
		delete(n, r.Goid)
		return
	}
	if len(n) > mostNested {
		clear(n)
	}
	n[r.Goid] = open
}

// inPod reports whether a goroutine is inside a step of a pod.
func (n nesting) inPod(goroutine uint64) bool {
	open := n[goroutine]
	return len(open) > 0 && open[len(open)-1].uid != ""
}

// linked returns the address at which the program was linked to have an address of the process.
func (p *process) linked(address uint64) uint64 { return address - p.target.own.program.Bias() }

// setLines puts breakpoints at the lines where goroutines are to be held, and removes all other lines' breakpoints.
// The kubelet stands still.
func (p *process) setLines() {
	want := map[uint64]bool{}
	if p.target.own != nil && p.target.own.why == nil {
		for address := range p.wanted.Lines {
			want[address+p.target.own.program.Bias()] = true
		}
	}
	for _, s := range p.steps {
		for address := range s.at {
			want[address] = true
		}
		for address := range s.calls {
			want[address] = true
		}
	}
	var fresh []uint64 // addresses that have no breakpoint of a step
	changed := false
	for address := range want {
		if !p.target.own.program.Breakable(p.linked(address)) {
			delete(want, address)
			continue
		}
		changed = changed || !p.lines[address]
		if _, step := p.places[address]; !step {
			fresh = append(fresh, address)
		}
	}
	if !changed && len(want) == len(p.lines) {
		return
	}
	if p.linesID != 0 {
		if err := p.target.clear(p.linesID); err != nil {
			p.note("%v", err)
			return
		}
		p.linesID = 0
	}
	p.lines = want
	for g, address := range p.passing {
		if !want[address] {
			delete(p.passing, g)
		}
	}
	if len(fresh) == 0 {
		return
	}
	slices.Sort(fresh)
	var err error
	if p.linesID, err = p.target.set(fresh); err != nil {
		p.note("no pod is held at lines: %v", err)
	}
}

// wantsLine reports whether goroutines may be wanted at an address.
func (p *process) wantsLine(address uint64) bool { return p.lines[address] }

// passes reports whether a goroutine goes on from the place at which it was parked. g is the address of the runtime's
// g.
func (p *process) passes(address, g uint64) bool {
	at, is := p.passing[g]
	delete(p.passing, g)
	return is && at == address
}

// atLine handles a thread that stands at a line.
func (p *process) atLine(tid int, address, g, goroutine uint64) error {
	s := p.steps[goroutine]
	if s == nil {
		if err := p.stranger(address); err != nil || !p.wanted.Lines[p.linked(address)] || !p.inside.inPod(goroutine) {
			return err
		}
		return p.holdLine(tid, address, g, goroutine, nil)
	}
	if s.calls[address] {
		return p.follow(s, tid)
	}
	if s.at[address] || p.wanted.Lines[p.linked(address)] {
		return p.holdLine(tid, address, g, goroutine, s)
	}
	return nil
}

// stranger counts a goroutine that came to the places of other goroutines' steps by line. It gives up the steps whose
// places too many goroutines come to.
func (p *process) stranger(address uint64) error {
	for goroutine, s := range p.steps {
		if !s.at[address] && !s.calls[address] {
			continue
		}
		if s.strangers++; s.strangers > mostStrangers {
			p.note("a pod does not go on by line any more: other goroutines came to its lines %d times", s.strangers)
			delete(p.steps, goroutine)
			p.setLines()
		}
	}
	return nil
}

// follow makes a goroutine run the call at which it stands. If it can be held in the called function, it will be.
func (p *process) follow(s *lineStep, tid int) error {
	own := p.target.own
	regs, err := p.target.step(tid)
	if err != nil {
		return err
	}
	f, ok := own.program.Find(own.program.Linked(regs))
	if !ok || f.Entry != own.program.Linked(regs) {
		return nil
	}
	if place, why := own.program.Begin(f); why == nil {
		s.at[place.Address+own.program.Bias()] = true
		p.setLines()
	}
	return nil
}

// holdLine parks a goroutine that stands at a line. s is its step by line, if it makes one.
func (p *process) holdLine(tid int, address, g, goroutine uint64, s *lineStep) error {
	own, at := p.target.own, p.linked(address)
	place, why := own.program.Place(at)
	if why != nil {
		place = park.Place{Address: at, Next: at}
	}
	regs, err := own.regs(tid)
	if err == nil && place.Next != at {
		regs, err = p.target.stepTo(tid, place.Next)
	}
	if err != nil {
		return err
	}
	stack, err := own.program.Goroutine(regs)
	if err != nil {
		return nil // it cannot be held
	}
	top := stack.Frames[0]
	if s != nil && s.within && top.Depth > s.depth {
		return nil // the function has called itself
	}
	if err := p.allowsLine(stack.Functions()); err != nil {
		p.noteOnce("not held at lines of %s: %v", path.Base(top.Function), err)
		return nil
	}
	p.endOf(g)
	h := &hold{Held: Held{Line: &Frame{Function: top.Function, File: top.File, Line: top.Line}, Held: inside.Held{
		Hold: p.number + 1, TID: tid, G: g, Goroutine: goroutine, Place: at, At: clock.Now(), Functions: stack.Functions(),
	}}}
	if err := p.parkNow(h, at, stack, regs); err != nil {
		p.noteOnce("not held at lines of %s: %v", path.Base(top.Function), err)
		return nil
	}
	h.Until = h.At.Add(lease)
	p.addHold(h)
	if s != nil { // its step by line has ended
		delete(p.steps, goroutine)
		p.setLines()
	}
	if place.Next == at && p.lines[address] {
		p.passing[g] = address
	}
	p.spawn(func() { p.watch(h.wait) })
	return nil
}

// noteOnce sends each note once: a pod may come to a line again and again.
func (p *process) noteOnce(format string, args ...any) {
	text := fmt.Sprintf("a pod was "+format, args...)
	if len(p.noted) < mostNotes && !p.noted[text] {
		p.noted[text] = true
		p.note("%s", text)
	}
}

// mostNotes bounds the notes about lines.
const mostNotes = 100

// allowsLine returns an error if others may wait for a goroutine that has these functions under way.
func (p *process) allowsLine(functions []string) error {
	rule := &p.options.Lines
	for _, f := range functions {
		if slices.Contains(rule.Within, f) {
			return nil
		}
		switch {
		case !rule.Packages[inside.PackageOf(f)]:
			return fmt.Errorf("it is not known whether %s has a lock", f)
		case slices.ContainsFunc(rule.Locking, func(l string) bool { return f == l || strings.HasPrefix(f, l+".") }):
			return fmt.Errorf("%s takes a lock, for which others may wait", f)
		}
	}
	return errors.New("it is not on the pod's own goroutine")
}

// setStep makes a held goroutine stop again at a line after it is let go.
func (p *process) setStep(q *Question) error {
	delete(p.steps, q.Goroutine)
	if q.Line == LineNone {
		p.setLines()
		return nil
	}
	h := p.holdOf(q.Goroutine)
	switch own := p.target.own; {
	case h == nil:
		return errors.New("the pod is not held any more")
	case own == nil:
		return errRemoteLines
	case own.why != nil:
		return own.why
	case h.Whole:
		return fmt.Errorf("the whole kubelet is stopped for it: %s", h.Why)
	}
	frames, err := p.frames(h)
	if err != nil {
		return err
	}
	s, err := p.stepFrom(frames, q.Line)
	if err != nil {
		return err
	}
	p.steps[q.Goroutine] = s
	p.setLines()
	return nil
}

var errRemoteLines = errors.New("a headless Delve sets no registers: no pod is held at lines through one")

// stepFrom finds the addresses at which a goroutine can be held next.
func (p *process) stepFrom(frames []park.Frame, how LineStep) (*lineStep, error) {
	program := p.target.own.program
	s := &lineStep{at: map[uint64]bool{}, calls: map[uint64]bool{}, depth: frames[0].Depth, within: how != LineInto}
	add := func(address uint64) { s.at[address+program.Bias()] = true }
	if how != LineOut {
		if err := p.addLines(frames[0], true, add); err != nil {
			return nil, err
		}
	}
	if f, ok := program.Find(frames[0].PC); ok && how == LineInto {
		for _, address := range program.Calls(f, frames[0].PC) {
			s.calls[address+program.Bias()] = true
		}
	}
	for i, caller := range frames {
		if i == 0 || p.allowsLine(names(frames[i:])) != nil {
			continue // no goroutine is held there: look at the caller's caller
		}
		if back, ok := program.Back(caller.PC); ok {
			add(back.Address)
			break
		}
		if p.addLines(caller, false, add) == nil {
			break
		}
	}
	if len(s.at)+len(s.calls) == 0 {
		return nil, errors.New("there is no line at which the goroutine could be held next")
	}
	return s, nil
}

// names returns the functions of frames.
func names(frames []park.Frame) (out []string) {
	for _, f := range frames {
		out = append(out, f.Function)
	}
	return out
}

// addLines adds the places of the lines of a frame's function. It leaves out lines of inlined functions and, if but
// is set, the line at which the frame is.
func (p *process) addLines(at park.Frame, but bool, add func(uint64)) error {
	program := p.target.own.program
	f, ok := program.Find(at.PC)
	if !ok {
		return fmt.Errorf("there is no function at %#x", at.PC)
	}
	all, err := program.Lines(f)
	for _, l := range all {
		if l.Inlined || but && l.Number == at.Line && l.File == at.File {
			continue
		}
		add(l.Address)
	}
	return err
}
