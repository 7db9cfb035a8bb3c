package uprobe

import (
	"errors"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

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
	Thing probes.Text
	// Err is why the kernel does not do it. Missing: it does not, or was not asked, because an earlier thing is missing.
	Err     error
	Missing bool
	// Without is what follows where the thing is missing.
	Without probes.Text
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

var (
	withoutProgram = words.Text("podstep sees nothing inside the kubelet by the uprobe probe, and goes on with its other probes", "podstep 用 uprobe 探针看不到 kubelet 内部，会继续用其他探针")
	withoutOneLink = words.Text("each place has a link of its own: all is seen, and attaching and detaching take longer", "每一处各有一个链接：什么都能看到，只是附加和分离更慢")
)

// things has the words for each thing. docs/attach.md has the same table.
var things = []struct{ does, without probes.Text }{
	takesProgram:  {words.Text("takes the eBPF program and its ring buffer", "接受 eBPF 程序及其环形缓冲区"), withoutProgram},
	runsAtPlace:   {words.Text("runs it at a place of a process (uprobes)", "能在进程的某处运行它（uprobe）"), withoutProgram},
	onEachThread:  {words.Text("runs it on each thread of that process", "能在该进程的每个线程上运行它"), withoutProgram},
	recordsArrive: {words.Text("passes on its records", "会传出它的记录"), withoutProgram},
	knowsPlace:    {words.Text("tells it at which place it runs (get_attach_cookie)", "会告诉它在哪一处运行（get_attach_cookie）"), withoutProgram},
	oneLink:       {words.Text("has one link for all places, on each thread", "能用一个链接覆盖所有位置和每个线程"), withoutOneLink},
}

// lacking is an error about a thing that the kernel does not do.
type lacking struct {
	thing thing
	err   error
}

func (l *lacking) Error() string {
	return "try whether the kernel " + things[l.thing].does.En + ": " + l.err.Error()
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
