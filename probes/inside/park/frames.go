//go:build linux && (amd64 || arm64)

package park

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/pclntab"
)

// Frame is a function that is under way on a goroutine.
type Frame struct {
	// Function is the name that the compiler gave it. Inlined functions have no frame of their own.
	Function string
	// PC is the address at which it goes on, as the program was linked.
	PC uint64
	// File and Line are the place of PC in the source.
	File string
	Line int
	// Depth is how far below the stack's end the function's frame begins. It stays the same when the runtime moves
	// the stack.
	Depth uint64
}

// Goroutine is a goroutine that stands still.
type Goroutine struct {
	// G is the address of the runtime's g. ID is the number that stack traces show.
	G, ID uint64
	// Frames are the functions under way, from the innermost to the one with which the goroutine began.
	Frames []Frame

	low, high uint64 // its stack
}

// mostFrames bounds how far a stack is walked.
const mostFrames = 256

// Goroutine finds out what a thread that stands still is running. It fails if the thread runs no goroutine whose
// stack can be walked to its end.
func (p *Program) Goroutine(regs *unix.PtraceRegs) (*Goroutine, error) {
	g := &Goroutine{G: gOf(regs)}
	b := make([]byte, p.goid+8)
	if err := ReadMemory(p.PID, g.G, b); err != nil {
		return nil, errors.New("the thread runs no goroutine")
	}
	g.low, g.high, g.ID = word(b, 0), word(b, 8), word(b, p.goid)
	if sp := spOf(regs); g.low >= g.high || sp < g.low || sp >= g.high || sp%8 != 0 {
		return nil, errors.New("the thread is not on a goroutine's stack")
	}
	err := p.walk(g, pcOf(regs), spOf(regs), linkOf(regs))
	return g, err
}

// Offsets in the runtime's struct g that are the same in all known versions.
const (
	threadAt  = 48 // the address of the thread's m; 0: it runs on none
	waitingSP = 56
	waitingPC = 64
)

// Waiting finds out what a goroutine is running that is on no thread, or in a system call. g is the address of the
// runtime's g.
func (p *Program) Waiting(g uint64) (*Goroutine, error) {
	out := &Goroutine{G: g}
	b := make([]byte, p.goid+8)
	if err := ReadMemory(p.PID, g, b); err != nil {
		return nil, errors.New("there is no such goroutine")
	}
	out.low, out.high, out.ID = word(b, 0), word(b, 8), word(b, p.goid)
	sp, pc := word(b, waitingSP), word(b, waitingPC)
	if word(b, threadAt) != 0 {
		sp, pc = word(b, p.syscall), word(b, p.syscall+8)
	}
	if sp == 0 || sp < out.low || sp >= out.high || sp%8 != 0 {
		return nil, errors.New("the goroutine does not wait")
	}
	return out, p.walk(out, pc, sp, 0)
}

// walk finds the frames as the runtime does: by the size of each function's frame at the place where the function is.
// Frame pointers would miss functions that have none. link is the register with the address to return to.
func (p *Program) walk(g *Goroutine, pc, sp, link uint64) error {
	s := stack{pid: p.PID, low: sp, high: g.high}
	for {
		f, ok := p.function(pc)
		if !ok {
			return fmt.Errorf("walk the stack: there is no function at %#x", pc)
		}
		at := pc - p.bias
		if len(g.Frames) > 0 { // PC is behind the call
			at--
		}
		g.Frames = append(g.Frames, Frame{f.Name, pc - p.bias, f.FileAt(at), f.LineAt(at), 0})
		if f.Top() {
			return nil
		}
		delta, ok := f.Delta(pc - p.bias)
		if !ok || f.SPWrite() {
			return fmt.Errorf("walk the stack: the frame of %s is not known", f.Name)
		}
		if len(g.Frames) == mostFrames {
			return fmt.Errorf("walk the stack: it has more than %d frames", mostFrames)
		}
		g.Frames[len(g.Frames)-1].Depth = g.high - sp - uint64(delta)
		var err error
		if pc, sp, link, err = p.isa.caller(&s, f, around{sp, sp + uint64(delta), link}); err != nil {
			return fmt.Errorf("walk the stack: %w", err)
		}
	}
}

// around is what leads from a function to its caller: its stack pointer, where that was at the function's first
// instruction, and the address to return to while that is only in a register.
type around struct{ sp, frame, link uint64 }

// caller: the call itself has put the address to return to on the stack.
func (x86) caller(s *stack, _ *pclntab.Func, a around) (pc, sp, link uint64, err error) {
	pc, err = s.word(a.frame)
	return pc, a.frame + 8, 0, err
}

// caller: the function has put the address to return to at the bottom of its frame. Without a frame it is in the register.
// A debugger that makes a function call debugCallV2 puts the register's number above the frame, as podstep does.
func (a64) caller(s *stack, f *pclntab.Func, a around) (pc, sp, link uint64, err error) {
	if a.frame == a.sp {
		return a.link, a.frame, 0, nil
	}
	if pc, err = s.word(a.sp); err != nil || f.Name != DebugCall {
		return pc, a.frame, 0, err
	}
	link, err = s.word(a.frame)
	return pc, a.frame + a64LinkRoom, link, err
}

// Functions returns the names of the functions under way, the innermost first.
func (g *Goroutine) Functions() []string {
	names := make([]string, len(g.Frames))
	for i, f := range g.Frames {
		names[i] = f.Function
	}
	return names
}
