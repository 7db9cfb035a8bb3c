//go:build linux && amd64

package park

import (
	"fmt"

	"golang.org/x/arch/x86/x86asm"

	"github.com/podstep/podstep/probes/pclntab"
)

// A function that looks at the stack's end when it begins, and has the stack moved if it
// is near, leaves room below it for functions that do not look: as many bytes as the
// linker lets a chain of those have, 800. Syscall6 and all that it calls do not look. Of
// their chain and the frames that Park adds it must be known whether they fit.

// stackNeed is how much stack parking takes.
func (p *Program) stackNeed() (uint64, error) {
	enter, ok := p.table.Find(p.path.enter.pc)
	if !ok {
		return 0, fmt.Errorf("there is no function at %#x", p.path.enter.pc)
	}
	d := depths{p: p, known: map[uint64]int64{}}
	depth, err := d.of(enter, 0)
	if err != nil {
		return 0, fmt.Errorf("find out how much stack a system call takes: %w", err)
	}
	return p.path.size() - p.path.enter.delta + uint64(depth), nil
}

// size is that of the frames that Park adds.
func (p *path) size() uint64 {
	return 8 + p.registers.delta + 8 + p.room.delta + 8 + p.enter.delta
}

// depths works out how much stack functions take.
type depths struct {
	p     *Program
	known map[uint64]int64 // by entry
}

// deepest bounds the recursion: the linker lets no chain have more bytes.
const deepest = 100

// of is how much stack the function and all that it calls take, up to functions that look
// themselves, and to a change to the scheduler's stack, which is by a register's call.
func (d *depths) of(f *pclntab.Func, level int) (int64, error) {
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
		target, ok := i.Target()
		if !ok || target >= f.Entry && target < f.End {
			continue
		}
		callee, ok := d.p.table.Find(target)
		at, known := f.Delta(i.PC)
		if !ok || callee.Entry != target || !known {
			continue // padding, or behind a call that never returns
		}
		below, err := d.of(callee, level+1)
		if err != nil {
			return 0, err
		}
		if i.Op == x86asm.CALL {
			at += 8
		}
		most = max(most, at+below)
	}
	d.known[f.Entry] = most
	return most, nil
}

// looks reports whether a function begins with a look at the stack's end: a comparison
// with the second word of a g.
func looks(code []inst) bool {
	const guard = 16
	for _, i := range code[:min(len(code), 6)] {
		m, ok := i.Args[1].(x86asm.Mem)
		if ok && i.Op == x86asm.CMP && m.Disp == guard && m.Index == 0 && m.Base != x86asm.RSP {
			return true
		}
	}
	return false
}
