//go:build linux && (amd64 || arm64)

package park

import (
	"strings"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/pclntab"
)

// Place returns the place behind the instruction at an address, as the program was linked, or refuses if goroutines
// cannot be parked there. They can be parked at a function's entry and at its exits. Elsewhere flags and vector
// registers may be live, which parking does not keep.
func (p *Program) Place(address uint64) (Place, *RefusedError) {
	f, ok := p.table.Find(address)
	if !ok {
		return Place{}, refuse(NoFunction, "no function of the program is at %#x", address)
	}
	known, ok := p.looked[f.Entry]
	if !ok {
		known = p.placesIn(f)
		if p.looked == nil {
			p.looked = map[uint64]looked{}
		}
		p.looked[f.Entry] = known
	}
	for _, place := range known.places {
		if place.Address == address {
			return place, nil
		}
	}
	if known.why != nil {
		return Place{}, known.why
	}
	return Place{}, refuse(Elsewhere, "%#x in %s is neither its entry nor before one of its returns", address, f.Name)
}

// placesIn finds the places of a function.
func (p *Program) placesIn(f *pclntab.Func) looked {
	all, notExit := p.exits(f)
	entry, notEntry := p.entry(f)
	if notEntry != nil {
		return looked{all, notEntry}
	}
	return looked{append(all, entry), notExit}
}

// place returns the place behind an instruction of a function.
func (p *Program) place(f *pclntab.Func, i *inst) (Place, *RefusedError) {
	if !i.straight {
		return Place{}, refuse(NotStraight, "%v at %#x in %s does not go on with the next instruction", i.text, i.PC, f.Name)
	}
	return Place{Address: i.PC, Next: i.next, Function: f.Name}, p.safe(i.next)
}

// safe refuses where the runtime itself would not stop a goroutine by a signal: in the runtime, in assembly, and
// where the compiler wrote that it must not.
func (p *Program) safe(pc uint64) *RefusedError {
	f, ok := p.table.Find(pc)
	switch {
	case !ok:
		return refuse(NoFunction, "no function of the program is at %#x", pc)
	case isRuntime(f.Name):
		return refuse(InRuntime, "%s belongs to Go's runtime", f.Name)
	case !f.Safe(pc):
		return refuse(UnsafePoint, "%#x in %s is no safe point", pc, f.Name)
	}
	return nil
}

func isRuntime(function string) bool {
	for _, prefix := range []string{"runtime.", "runtime/internal/", "internal/runtime/", "reflect.", "internal/abi."} {
		if strings.HasPrefix(function, prefix) {
			return true
		}
	}
	return false
}

// Behind reports whether a thread with these registers stands right behind the place.
func (p *Program) Behind(place Place, regs *unix.PtraceRegs) bool {
	return pcOf(regs)-p.bias == place.Next
}

// Linked returns the address, as the program was linked, of the instruction that the thread runs next.
func (p *Program) Linked(regs *unix.PtraceRegs) uint64 { return pcOf(regs) - p.bias }
