//go:build linux && amd64

package delve

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/podstep/podstep/probes/uprobe"
	"github.com/podstep/podstep/probes/uprobe/holdproc"
	"github.com/podstep/podstep/probes/uprobe/park"
)

// Elsewhere than at steps a goroutine is held at lines: those of breakpoints, and the next one
// of a goroutine that goes on by line. For that there are breakpoints at the lines to which
// it can come next, while all others run on; who else comes there is let go at once.

// lineStep is a goroutine that goes on by line.
type lineStep struct {
	// at are the addresses at which it is held next, calls those of calls into which it is
	// followed.
	at, calls map[uint64]bool
	// depth is that of the frame which it has left: with within, who is deeper is let go on.
	depth  uint64
	within bool
	// strangers counts the others that came to these places.
	strangers int
}

// mostStrangers bounds how often others may come to the places of a step by line: each time
// the kubelet stands still.
const mostStrangers = 2000

// nesting are the pods of the steps that are under way on goroutines, the innermost last.
type nesting map[uint64][]podAt

type podAt struct {
	depth uint64
	uid   string
}

// mostNested bounds the goroutines of which that is known.
const mostNested = 1 << 14

// take takes what was read at a place of a step.
func (n nesting) take(r *uprobe.Record, exit bool) {
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

// linked is an address as the program was linked.
func (p *process) linked(address uint64) uint64 { return address - p.target.own.program.Bias() }

// setLines has breakpoints be at the lines where somebody wants goroutines held, and at no
// others. The kubelet stands still.
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
	var fresh []uint64 // at which there is none for a step of the catalogue
	changed := len(want) != len(p.lines)
	for address := range want {
		changed = changed || !p.lines[address]
		if _, step := p.places[address]; !step {
			fresh = append(fresh, address)
		}
	}
	if !changed {
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

// wantsLine reports whether somebody may want goroutines held at an address.
func (p *process) wantsLine(address uint64) bool { return p.lines[address] }

// passes reports whether a goroutine, whose g is at an address, was parked at the place where it
// is, and goes on.
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

// stranger counts a goroutine that came to places of others' steps by line, and gives up those
// to which too many come.
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

// follow has a goroutine run the call at which it stands, and be held in the function that is
// called, if it can be.
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

// holdLine parks a goroutine that stands at a line, for a step by line if there is one.
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
		return nil // it is none that can be held
	}
	top := stack.Frames[0]
	if s != nil && s.within && top.Depth > s.depth {
		return nil // it calls itself
	}
	if err := p.allowsLine(stack.Functions()); err != nil {
		p.noteOnce("not held at lines of %s: %v", path.Base(top.Function), err)
		return nil
	}
	p.endOf(g)
	h := &hold{Held: Held{Line: &Frame{Function: top.Function, File: top.File, Line: top.Line}, Held: holdproc.Held{
		Hold: p.number + 1, TID: tid, G: g, Goroutine: goroutine, Place: at, At: time.Now(), Functions: stack.Functions(),
	}}}
	if err := p.parkNow(h, at, stack, regs); err != nil {
		p.noteOnce("not held at lines of %s: %v", path.Base(top.Function), err)
		return nil
	}
	h.Until = h.At.Add(lease)
	p.begins(h)
	if s != nil { // it has come
		delete(p.steps, goroutine)
		p.setLines()
	}
	if place.Next == at && p.lines[address] {
		p.passing[g] = address
	}
	go p.watch(h.wait)
	return nil
}

// noteOnce says something once: a pod may come to a line again and again.
func (p *process) noteOnce(format string, args ...any) {
	text := fmt.Sprintf("a pod was "+format, args...)
	if len(p.noted) < mostNotes && !p.noted[text] {
		p.noted[text] = true
		p.note("%s", text)
	}
}

// mostNotes bounds what is said of lines.
const mostNotes = 100

// allowsLine refuses to hold a goroutine with these functions under way where others may wait
// for it.
func (p *process) allowsLine(functions []string) error {
	rule := &p.options.Lines
	for _, f := range functions {
		if slices.Contains(rule.Within, f) {
			return nil
		}
		switch {
		case !rule.Packages[packageOf(f)]:
			return fmt.Errorf("it is not known whether %s has a lock", f)
		case slices.ContainsFunc(rule.Locking, func(l string) bool { return f == l || strings.HasPrefix(f, l+".") }):
			return fmt.Errorf("%s takes a lock, for which others may wait", f)
		}
	}
	return errors.New("it is not on the pod's own goroutine")
}

// packageOf is the path of a function's package.
func packageOf(function string) string {
	name, _, _ := strings.Cut(function, "[")
	slash := strings.LastIndexByte(name, '/') + 1
	in, _, _ := strings.Cut(name[slash:], ".")
	return name[:slash] + in
}

// step has a held goroutine be held again at a line when it is let go.
func (p *process) step(q *Question) error {
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

// stepFrom finds the places to which a goroutine can come next.
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
			continue // nobody is held there: the caller's caller is next
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

// names are the functions of frames.
func names(frames []park.Frame) (out []string) {
	for _, f := range frames {
		out = append(out, f.Function)
	}
	return out
}

// addLines adds the lines of the function of a frame, but for the one where it is, and those of
// other functions that were put into it.
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
