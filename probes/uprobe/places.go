//go:build linux

package uprobe

import (
	"errors"
	"fmt"
	"slices"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/pclntab"
)

// place is an instruction at which the program in the kernel runs.
type place struct {
	// at is the instruction's address, as the program was linked. offset is its offset in the file.
	at, offset uint64
	// below is how far, in bytes, the stack pointer there is below its value at the function's first instruction.
	below int64
	// wide is the address at which a debugger's breakpoint can stand; 0: none. wideBelow is below at that address.
	wide      uint64
	wideBelow int64
}

var errEmpty = errors.New("it does nothing")

// function returns the table's function for code.
func (i *image) function(f probes.Code) (*pclntab.Func, error) {
	fn, ok := i.functions.Find(f.Entry)
	if !ok {
		return nil, fmt.Errorf("%s is not in the table of functions", f.Name)
	}
	return fn, nil
}

// entry returns where a function is entered, with the arguments where the caller put them.
func (i *image) entry(fn *pclntab.Func) (place, error) {
	at, err := i.code.Entry(fn)
	if err != nil {
		return place{}, err
	}
	return i.place(fn, at)
}

// exits returns where a function returns, with the results where the caller expects them.
func (i *image) exits(fn *pclntab.Func) (all []place, err error) {
	returns, err := i.code.Exits(fn)
	if err != nil {
		return nil, err
	}
	for _, at := range returns {
		x, err := i.place(fn, at)
		if err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	return all, nil
}

func (i *image) place(fn *pclntab.Func, at uint64) (place, error) {
	below, known := fn.Delta(at)
	offset, ok := i.offset(at)
	if !known || !ok {
		return place{}, fmt.Errorf("%#x in %s is not known to the table of functions, or not in the file", at, fn.Name)
	}
	out := place{at: at, offset: offset, below: below}
	if wide, ok := i.code.Wide(fn, at); ok {
		out.wide = wide
		out.wideBelow, _ = fn.Delta(wide)
	}
	return out, nil
}

// placesOf returns a function's entry and exits.
func (s *step) placesOf(f probes.Code, prog *program) ([]*planned, error) {
	fn, err := prog.function(f)
	if err != nil {
		return nil, err
	}
	entry, err := prog.entry(fn)
	if err != nil {
		return nil, err
	}
	exits, err := prog.exits(fn)
	if err != nil && !s.Root {
		return nil, err // the function of a root step may run for as long as the kubelet
	}
	if slices.Contains(exits, entry) {
		return nil, errEmpty
	}
	out := []*planned{s.planned(entry, s.enter, false)}
	for _, x := range exits {
		out = append(out, s.planned(x, s.exit, true))
	}
	return out, nil
}

// makesGoroutines is the function of the runtime whose result is a new goroutine.
const makesGoroutines = "runtime.newproc1"

// starts returns the places at which a goroutine has been made.
func starts(p *program) ([]place, error) {
	fn, ok := p.Functions.ByName(makesGoroutines)
	if !ok {
		return nil, fmt.Errorf("find where goroutines begin: there is no %s", makesGoroutines)
	}
	exits, err := p.exits(fn)
	if err != nil {
		return nil, fmt.Errorf("find where goroutines begin: %w", err)
	}
	return exits, nil
}
