package uprobe

import "errors"

// Kernel has what was found out about a kernel by doing it.
type Kernel struct {
	// Program is why the program with one link a place does not work; nil: it does.
	Program error
	// OneLink is why one link to all places of a process does not work; nil: it does. It is not tried if the program
	// does not work.
	OneLink error
}

// Tried is one thing that the probe asks of a kernel.
type Tried struct {
	// Thing is what the kernel is asked for, as the object of "the kernel".
	Thing string
	// Err is why the kernel does not do it. Missing: it does not, or was not asked, because an earlier thing is missing.
	Err     error
	Missing bool
	// Without is what follows where the thing is missing.
	Without string
}

// thing is one of the things that are tried, in this order.
type thing int

const (
	takesProgram thing = iota
	runsAtPlace
	onEachThread
	recordsArrive
	knowsPlace
	oneLink
)

const (
	withoutProgram = "podstep sees nothing inside the kubelet by the uprobe probe, and goes on with its other probes"
	withoutOneLink = "each place has a link of its own: all is seen, and attaching and detaching take longer"
)

// things has the words for each thing. docs/attach.md has the same table.
var things = []struct{ does, without string }{
	takesProgram:  {"takes the eBPF program and its ring buffer", withoutProgram},
	runsAtPlace:   {"runs it at a place of a process (uprobes)", withoutProgram},
	onEachThread:  {"runs it on each thread of that process", withoutProgram},
	recordsArrive: {"passes on its records", withoutProgram},
	knowsPlace:    {"tells it at which place it runs (get_attach_cookie)", withoutProgram},
	oneLink:       {"has one link for all places, on each thread", withoutOneLink},
}

// lacking is an error about a thing that the kernel does not do.
type lacking struct {
	thing thing
	err   error
}

func (l *lacking) Error() string {
	return "try whether the kernel " + things[l.thing].does + ": " + l.err.Error()
}

func (l *lacking) Unwrap() error { return l.err }

// Table returns all things that were tried, in order.
func (k *Kernel) Table() (all []Tried) {
	first := oneLink // the first thing that is missing
	if k.Program != nil {
		first = takesProgram
		var l *lacking
		if errors.As(k.Program, &l) {
			first = l.thing
		}
	}
	for i, t := range things {
		one := Tried{Thing: t.does, Without: t.without}
		switch {
		case thing(i) == oneLink && k.Program == nil:
			one.Err, one.Missing = k.OneLink, k.OneLink != nil
		case k.Program != nil && thing(i) >= first:
			one.Missing = true
			if thing(i) == first {
				one.Err = k.Program
			}
		}
		all = append(all, one)
	}
	return all
}
