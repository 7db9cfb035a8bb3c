package gocode

import (
	"debug/elf"
	"errors"
	"fmt"

	"github.com/podstep/podstep/probes/pclntab"
)

// Code is a program's code.
type Code interface {
	// Arch is its architecture, as Go names it.
	Arch() string
	// Entry returns the instruction that runs once in each call of a function, with the arguments where the caller put
	// them. It is the instruction that makes the frame or, without a frame, the first one. If the stack has to grow, the
	// function begins anew before this instruction. No loop of the function's body comes back to it.
	Entry(f *pclntab.Func) (uint64, error)
	// Exits returns the instructions at which a function returns, with the results where the caller expects them.
	Exits(f *pclntab.Func) ([]uint64, error)
	// Wide returns, for an instruction that Entry or Exits found, one at which a debugger's breakpoint can stand: the
	// instruction itself, or one next to it at which arguments and results are the same. ok is false if there is none.
	Wide(f *pclntab.Func, pc uint64) (wide uint64, ok bool)
}

// Of returns the code of a program for a machine.
func Of(m elf.Machine, text pclntab.Section) (Code, error) {
	switch m {
	case elf.EM_X86_64:
		return Text(text), nil
	case elf.EM_AARCH64:
		return ARM64(text), nil
	}
	return nil, fmt.Errorf("it is built for %v, and only amd64 and arm64 are known here", m)
}

// The reasons why a function has no such place.
var (
	ErrPrologue = errors.New("its code begins in a way that is not known here")
	ErrLoop     = errors.New("its code comes back to where it begins")
	ErrNoReturn = errors.New("it does not return")
)

// decoder decodes the code of an architecture.
type decoder interface {
	decode(pc uint64) (instruction, error)
	// exit returns the exit that belongs to a return. begins is where the frame is gone.
	exit(f *pclntab.Func, begins, ret uint64) uint64
}

// instruction is what the places of a function depend on.
type instruction struct {
	pc, next uint64 // its address, and that of the next one
	// returns: it returns. pads: it does nothing.
	returns, pads bool
	// jumps is the target of a jump that is no call; 0: it is none, or has no fixed target.
	jumps uint64
}

// longestPrologue bounds the instructions before a function's frame is made.
const longestPrologue = 16

// entryOf is Code.Entry.
func entryOf(d decoder, f *pclntab.Func) (uint64, error) {
	frame := f.MaxDelta()
	if frame == 0 {
		return withoutFrame(d, f)
	}
	for pc := f.Entry; pc < f.End; {
		i, err := d.decode(pc)
		if err != nil {
			return 0, err
		}
		if delta, ok := f.Delta(i.next); ok && delta == frame {
			return pc, nil
		}
		pc = i.next
		if pc-f.Entry > longestPrologue*4 {
			break
		}
	}
	return 0, ErrPrologue
}

// withoutFrame returns the first instruction of a function that has no frame and does not come back to it.
func withoutFrame(d decoder, f *pclntab.Func) (uint64, error) {
	code, err := function(d, f)
	if err != nil {
		return 0, err
	}
	for _, i := range code {
		if i.jumps == f.Entry {
			return 0, ErrLoop
		}
	}
	return f.Entry, nil
}

// function decodes a function to its end, with the padding behind it.
func function(d decoder, f *pclntab.Func) (all []instruction, err error) {
	for pc := f.Entry; pc < f.End; {
		i, err := d.decode(pc)
		if err != nil {
			return nil, err
		}
		all = append(all, i)
		pc = i.next
	}
	return all, nil
}

// exitsOf is Code.Exits.
func exitsOf(d decoder, f *pclntab.Func) (all []uint64, err error) {
	if f.MaxDelta() == 0 {
		all, err = allReturns(d, f)
	} else {
		all, err = endsOfFrame(d, f)
	}
	if err == nil && len(all) == 0 {
		err = ErrNoReturn
	}
	return all, err
}

// allReturns returns a function's return instructions.
func allReturns(d decoder, f *pclntab.Func) (all []uint64, err error) {
	code, err := function(d, f)
	for _, i := range code {
		if i.returns {
			all = append(all, i.pc)
		}
	}
	return all, err
}

// endsOfFrame returns the exits of a function that has a frame. They are where a stretch without the frame begins
// that is only a return.
func endsOfFrame(d decoder, f *pclntab.Func) (all []uint64, err error) {
	begins := f.Entry
	for end, delta := range f.Deltas() {
		if delta == 0 && begins > f.Entry {
			ret, err := behindPadding(d, begins)
			if err != nil {
				return nil, err
			}
			if ret.returns {
				all = append(all, d.exit(f, begins, ret.pc))
			}
		}
		begins = end
	}
	return all, nil
}

// behindPadding returns the first instruction from an address that does something. The compiler keeps returns away
// from the ends of cache lines.
func behindPadding(d decoder, pc uint64) (i instruction, err error) {
	for i, err = d.decode(pc); err == nil && i.pads; i, err = d.decode(i.next) {
	}
	return i, err
}
