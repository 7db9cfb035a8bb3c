//go:build linux && (amd64 || arm64)

package park

import (
	"fmt"
	"slices"

	"github.com/podstep/podstep/probes/pclntab"
)

// A function that checks the stack's end when it begins has the stack moved if the end is near. So below its frame
// there is room for functions that do not check: the linker lets a chain of those take 800 bytes. Syscall6 and all
// that it calls do not check. So their chain must fit there together with the frames that Park adds.

// stackNeed returns how much stack parking takes.
func (p *Program) stackNeed() (uint64, error) {
	enter, ok := p.table.Find(p.path.enter.pc)
	if !ok {
		return 0, fmt.Errorf("there is no function at %#x", p.path.enter.pc)
	}
	d := depths{p: p, known: map[uint64]int64{}}
	depth, err := d.stackOf(enter, 0)
	if err != nil {
		return 0, fmt.Errorf("find out how much stack a system call takes: %w", err)
	}
	return p.path.size - p.path.enter.delta + uint64(depth), nil
}

// depths works out how much stack functions take.
type depths struct {
	p     *Program
	known map[uint64]int64 // by entry
}

// deepest bounds the recursion: each call takes at least 8 bytes of a chain's 800.
const deepest = 100

// stackOf returns how much stack a function takes with all that it calls. It stops at functions that check the
// stack's end themselves, and at a switch to the scheduler's stack, which is a call through a register.
func (d *depths) stackOf(f *pclntab.Func, level int) (int64, error) {
	if depth, ok := d.known[f.Entry]; ok {
		return depth, nil
	}
	if level > deepest {
		return 0, fmt.Errorf("%s calls itself", f.Name)
	}
	code, err := d.p.code(f)
	if err != nil {
		return 0, err
	}
	if looks(code) {
		d.known[f.Entry] = 0
		return 0, nil
	}
	most := f.MaxDelta()
	for _, i := range code {
		if i.to == 0 || i.to >= f.Entry && i.to < f.End {
			continue
		}
		callee, ok := d.p.table.Find(i.to)
		at, known := f.Delta(i.PC)
		if !ok || callee.Entry != i.to || !known {
			continue // it is padding, or behind a call that never returns
		}
		below, err := d.stackOf(callee, level+1)
		if err != nil {
			return 0, err
		}
		if i.calls {
			at += d.p.isa.pushed()
		}
		most = max(most, at+below)
	}
	d.known[f.Entry] = most
	return most, nil
}

// guard is where in a g its stack's end is by which functions check.
const guard = 16

// looks reports whether a function begins by checking the stack's end.
func looks(code []inst) bool {
	return slices.ContainsFunc(code[:min(len(code), 6)], func(i inst) bool { return i.looks })
}
