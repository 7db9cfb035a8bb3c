//go:build linux

package uprobe

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/cilium/ebpf/features"

	"github.com/podstep/podstep/probes/inside/park"
	"github.com/podstep/podstep/probes/inside/reading"
)

// openKernel loads the program with the data of a plan, in the first form that shows podstep all that podstep does itself.
// A form is for one link to all places of a process (true), or for one link a place.
func openKernel(forms []bool, open func(multi bool) (*kernel, error)) (*kernel, error) {
	var errs []error
	for _, multi := range forms {
		k, err := open(multi)
		if err == nil {
			return k, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// forms returns the forms that the kernel may have, the better one first.
func forms() []bool {
	if features.HaveBPFLinkUprobeMulti() != nil {
		return []bool{false}
	}
	return []bool{true, false}
}

// openForm loads the program in one form, fills it, and tries it on podstep's own process.
func openForm(p *plan, wraps map[uint64]reading.Wrap, multi bool) (*kernel, error) {
	k, err := load(multi)
	if err != nil {
		return nil, &lacking{takesProgram, err}
	}
	if err = k.fill(p, wraps); err != nil {
		err = &lacking{takesProgram, err}
	} else if k.own, err = k.measure(p.measuredPlace()); err != nil {
		err = &lacking{runsAtPlace, err}
	} else {
		err = k.own.fault(p.measuredPlace())
	}
	if err != nil {
		return nil, errors.Join(err, k.close())
	}
	return k, nil
}

// fault returns what a measurement shows that the kernel does not do; nil if it does all.
func (m *measurement) fault(place uint64) error {
	records := 0
	for _, n := range m.places {
		records += n
	}
	switch {
	case m.hits == 0:
		return &lacking{onEachThread, errors.New("podstep's own function was called on a second thread, and the program never ran")}
	case m.hits < measuredHits:
		return &lacking{onEachThread, fmt.Errorf("of %d calls on a second thread the program ran at %d", measuredHits, m.hits)}
	case records == 0:
		return &lacking{recordsArrive, errors.New("none came")}
	case m.places[uint32(place)] != records:
		return &lacking{knowsPlace, fmt.Errorf("of %d records %d name another place", records, records-m.places[uint32(place)])}
	}
	return nil
}

// TryKernel finds out what this machine's kernel does of the things that the probe asks of it, on podstep's own process.
func TryKernel() *Kernel {
	k := &Kernel{}
	layout, err := goroutineLayout(runtime.Version())
	if err != nil {
		k.Program = err
		return k
	}
	p := &plan{layout: layout, reads: make([]reading.Read, typicalReads)}
	try := func(multi bool) error {
		opened, err := openForm(p, nil, multi)
		if err != nil {
			return err
		}
		return opened.close()
	}
	if k.Program = try(false); k.Program != nil {
		return k
	}
	if k.OneLink = features.HaveBPFLinkUprobeMulti(); k.OneLink == nil {
		k.OneLink = try(true)
	}
	return k
}

// seccompFilter is the mode of a process under a seccomp filter, as /proc/PID/status has it.
const seccompFilter = "2"

// Seccomp reports whether a process runs under a seccomp filter. root has the machine's files.
func Seccomp(root string, pid int) bool {
	return park.StatusOf(fmt.Sprintf("%s/proc/%d", root, pid), "Seccomp") == seccompFilter
}
