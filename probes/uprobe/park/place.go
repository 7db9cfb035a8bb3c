//go:build linux && amd64

package park

import (
	"strings"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/pclntab"
)

// Place finds out whether goroutines can be parked at a place: behind the instruction at
// an address, as the program was linked. They can at the entry of a function and at its
// exits. Elsewhere too much may be alive that is not kept: flags, and vector registers.
func (p *Program) Place(address uint64) (Place, *RefusedError) {
	f, ok := p.table.Find(address)
	if !ok {
		return Place{}, refuse(NoFunction, "no function of the program is at %#x", address)
	}
	known, ok := p.looked[f.Entry]
	if !ok {
		known = p.look(f)
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
	if len(known.places) == 0 {
		return Place{}, known.why
	}
	return Place{}, refuse(Elsewhere, "%#x in %s is neither its entry nor before one of its returns", address, f.Name)
}

// look finds the places of a function.
func (p *Program) look(f *pclntab.Func) looked {
	all, notExit := p.exits(f)
	entry, notEntry := p.entry(f)
	if notEntry != nil {
		return looked{all, notEntry}
	}
	return looked{append(all, entry), notExit}
}

// place is the one behind an instruction of a function.
func (p *Program) place(f *pclntab.Func, i inst) (Place, *RefusedError) {
	if !i.straight() {
		return Place{}, refuse(NotStraight, "%v at %#x in %s does not go on with the next instruction", i.Inst, i.PC, f.Name)
	}
	return Place{Address: i.PC, Next: i.Next(), Function: f.Name}, p.safe(i.Next())
}

// safe refuses where the runtime would not stop a goroutine by a signal: in itself, in
// assembly, and where the compiler wrote that it must not.
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
	return regs.Rip-p.bias == place.Next
}

// Linked is the address at which what the thread runs next was linked.
func (p *Program) Linked(regs *unix.PtraceRegs) uint64 { return regs.Rip - p.bias }
