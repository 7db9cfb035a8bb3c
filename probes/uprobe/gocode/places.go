package gocode

import (
	"errors"

	"golang.org/x/arch/x86/x86asm"

	"github.com/podstep/podstep/probes/pclntab"
)

// The reasons why a function has no such place.
var (
	ErrPrologue = errors.New("its code begins in a way that is not known here")
	ErrLoop     = errors.New("its code comes back to where it begins")
	ErrNoReturn = errors.New("it does not return")
)

// longestPrologue bounds the instructions before a function's frame is made.
const longestPrologue = 16

// Entry returns the instruction that runs once in each call of a function, with the arguments where the caller put
// them. It is the instruction that makes the frame or, without a frame, the first one. If the stack has to grow, the
// function begins anew before this instruction. No loop of the function's body comes back to it.
func (t Text) Entry(f *pclntab.Func) (Inst, error) {
	frame := f.MaxDelta()
	if frame == 0 {
		return t.withoutFrame(f)
	}
	for pc := f.Entry; pc < f.End; {
		i, err := t.Decode(pc)
		if err != nil {
			return Inst{}, err
		}
		if delta, ok := f.Delta(i.Next()); ok && delta == frame {
			return i, nil
		}
		pc = i.Next()
		if pc-f.Entry > longestPrologue*4 {
			break
		}
	}
	return Inst{}, ErrPrologue
}

// withoutFrame returns the first instruction of a function that has no frame and does not come back to it.
func (t Text) withoutFrame(f *pclntab.Func) (Inst, error) {
	code, err := t.Function(f)
	if err != nil {
		return Inst{}, err
	}
	for _, i := range code {
		if to, ok := i.Target(); ok && to == f.Entry && i.Op != x86asm.CALL {
			return Inst{}, ErrLoop
		}
	}
	return code[0], nil
}

// Exits returns the instructions at which a function returns, with the results where the caller expects them. They
// are the instructions that restore the frame pointer: behind them, a goroutine is still in the function and can be
// held. Where there is no such instruction, it is the return itself.
func (t Text) Exits(f *pclntab.Func) (all []Inst, err error) {
	if f.MaxDelta() == 0 {
		all, err = t.allReturns(f)
	} else {
		all, err = t.endsOfFrame(f)
	}
	if err == nil && len(all) == 0 {
		err = ErrNoReturn
	}
	return all, err
}

// allReturns returns a function's return instructions.
func (t Text) allReturns(f *pclntab.Func) (all []Inst, err error) {
	code, err := t.Function(f)
	for _, i := range code {
		if i.Op == x86asm.RET {
			all = append(all, i)
		}
	}
	return all, err
}

// endsOfFrame returns the exits of a function that has a frame. They are where a stretch without the frame begins
// that is only a return.
func (t Text) endsOfFrame(f *pclntab.Func) (all []Inst, err error) {
	begins := f.Entry
	for end, delta := range f.Deltas() {
		if delta == 0 && begins > f.Entry {
			ret, err := t.behindPadding(begins)
			if err != nil {
				return nil, err
			}
			if ret.Op == x86asm.RET {
				all = append(all, t.pops(f, begins, ret))
			}
		}
		begins = end
	}
	return all, nil
}

// behindPadding returns the first instruction from an address that does something. The compiler keeps returns away
// from the ends of cache lines.
func (t Text) behindPadding(pc uint64) (i Inst, err error) {
	for i, err = t.Decode(pc); err == nil && i.Op == x86asm.NOP; i, err = t.Decode(i.Next()) {
	}
	return i, err
}

// pops returns the instruction right before an address if it restores the frame pointer. Otherwise it returns the
// return itself.
func (t Text) pops(f *pclntab.Func, end uint64, ret Inst) Inst {
	const length = 1
	pop, err := t.Decode(end - length)
	delta, ok := f.Delta(end - length)
	if err == nil && ok && delta == 8 && pop.Op == x86asm.POP && pop.Args[0] == x86asm.RBP {
		return pop
	}
	return ret
}
