//go:build linux && amd64

package delve

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/go-delve/delve/pkg/logflags"
	"github.com/go-delve/delve/pkg/proc"
	"github.com/go-delve/delve/pkg/proc/linutil"
	"github.com/go-delve/delve/service"
	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/debugger"
	"github.com/go-delve/delve/service/rpc2"
	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/inside/park"
)

// attachGC lets memory grow by so many percent while Delve attaches, before the garbage collector takes time.
const attachGC = 1000

// native is a Delve in this process. It alone can set registers of threads, for which service/rpc2 has no request.
type native struct {
	*debugger.Debugger
	program *park.Program // nil: goroutines cannot be parked, and why has the reason
	why     error
}

// attach stops a process by a Delve in this process.
func attach(pid int) (*target, error) {
	_ = logflags.Setup(false, "", "") // without flags it cannot fail
	own := &native{}
	if own.program, own.why = park.Open(pid); own.why == nil {
		own.program.SetRegs = own.setRegs
	}
	// The kubelet stands still while Delve reads its program.
	defer debug.SetGCPercent(debug.SetGCPercent(attachGC))
	config := service.Config{Debugger: debugger.Config{AttachPid: pid, Backend: "native"}}
	var err error
	if own.Debugger, err = debugger.New(&config.Debugger, nil); err != nil {
		return nil, fmt.Errorf("attach Delve to process %d: %w", pid, attachHint(err))
	}
	if err := own.ignoreLibraries(); err != nil {
		return nil, errors.Join(err, own.Detach(false))
	}
	return &target{conn: newLocal(rpc2.NewServer(&config, own.Debugger)), pid: pid, own: own}, nil
}

// ignoreLibraries keeps Delve from reading the list of shared libraries at every stop, the names byte by byte
// (linutil.ElfUpdateSharedObjects). No step is in one, and a kubelet that is linked dynamically has several.
//
// Delve does not know a stripped kubelet that the C linker has linked for a program of Go, and waits for a library of Go then, by a
// breakpoint in the dynamic linker (native.setupSharedLibBreakpoint). podstep finds the functions itself. ignoreLibraries takes
// that breakpoint away.
func (n *native) ignoreLibraries() error {
	group, unlock := n.LockTargetGroup()
	defer unlock()
	group.Selected.BinInfo().ElfDynamicSection = proc.ElfDynamicSection{}
	for at, b := range group.Selected.Breakpoints().M {
		if !b.IsSharedLibBreakpoint() {
			continue
		}
		for _, one := range b.Breaklets {
			one.Kind = proc.UserBreakpoint // ClearBreakpoint clears no others
		}
		if err := group.Selected.ClearBreakpoint(at); err != nil {
			return fmt.Errorf("clear Delve's breakpoint in the dynamic linker: %w", err)
		}
	}
	return nil
}

// attachHint adds to an error of Delve's what a person can do about it.
func attachHint(err error) error {
	// Delve's debugger.attachErrorMessageLinux keeps EPERM only as text.
	if strings.Contains(err.Error(), "operation not permitted") {
		return fmt.Errorf("%w (another debugger may trace it already, or the kernel forbids it: see podstep doctor)", err)
	}
	return err
}

// thread returns a thread that stands still.
func (n *native) thread(tid int) (proc.Thread, error) {
	group, unlock := n.LockTargetGroup()
	defer unlock()
	th, ok := group.Selected.FindThread(tid)
	if !ok {
		return nil, fmt.Errorf("there is no thread %d", tid)
	}
	return th, nil
}

// threads returns the numbers of all threads.
func (n *native) threads() (out []int, err error) {
	group, unlock := n.LockTargetGroup()
	defer unlock()
	for _, th := range group.Selected.ThreadList() {
		out = append(out, th.ThreadID())
	}
	return out, nil
}

// regs returns the registers of a thread that stands still.
func (n *native) regs(tid int) (*unix.PtraceRegs, error) {
	th, err := n.thread(tid)
	if err != nil {
		return nil, err
	}
	all, err := th.Registers()
	if err != nil {
		return nil, fmt.Errorf("read the registers of thread %d: %w", tid, err)
	}
	one, ok := all.(*linutil.AMD64Registers)
	if !ok {
		return nil, fmt.Errorf("the registers of thread %d are not those of amd64", tid)
	}
	out := unix.PtraceRegs(*one.Regs)
	return &out, nil
}

// goOn lets the process run until it stands still again, and returns the threads that are at breakpoints. With the
// requests of service/rpc2 the process would stand still for longer: their answers describe the goroutine and the
// function of every thread.
func (n *native) goOn() (hits []hit, err error) {
	group, unlock := n.LockTargetGroup()
	defer unlock()
	if err := group.Continue(); err != nil {
		if exited := (proc.ErrProcessExited{}); errors.As(err, &exited) {
			return nil, errExited
		}
		return nil, err
	}
	for _, th := range group.Selected.ThreadList() {
		if at := th.Breakpoint(); at.Active {
			hits = append(hits, hit{th.ThreadID(), at.Addr})
		}
	}
	return hits, nil
}

// setRegs sets the registers of a thread that stands still.
func (n *native) setRegs(tid int, to *unix.PtraceRegs) error {
	th, err := n.thread(tid)
	if err != nil {
		return err
	}
	now, err := th.Registers()
	if err != nil {
		return err
	}
	all, err := now.Copy() // with floating-point registers, which stay as they are
	if err != nil {
		return err
	}
	one, ok := all.(*linutil.AMD64Registers)
	if !ok {
		return fmt.Errorf("the registers of thread %d are not those of amd64", tid)
	}
	*one.Regs = linutil.AMD64PtraceRegs(*to)
	return th.RestoreRegisters(one)
}

const (
	// mostSteps bounds the instructions from a breakpoint to the one behind its place.
	mostSteps = 3
	// mostTraps bounds how often a step may end before its instruction: see twice.
	mostTraps = 5
)

// stepTo lets a thread that stands at a breakpoint run to an address, but at least one instruction, and returns its
// registers there.
func (t *target) stepTo(tid int, address uint64) (*unix.PtraceRegs, error) {
	for range mostSteps {
		regs, err := t.step(tid)
		if err != nil || t.own.program.Linked(regs) >= address {
			return regs, err
		}
	}
	return nil, fmt.Errorf("the thread does not come to %#x", address)
}

// step makes a thread run one instruction, and returns its registers.
func (t *target) step(tid int) (*unix.PtraceRegs, error) {
	before, err := t.own.regs(tid)
	if err != nil {
		return nil, err
	}
	if _, err := t.run(api.DebuggerCommand{Name: api.SwitchThread, ThreadID: tid}); err != nil {
		return nil, err
	}
	for range mostTraps {
		if _, err := t.run(api.DebuggerCommand{Name: api.StepInstruction}); err != nil {
			return nil, err
		}
		regs, err := t.own.regs(tid)
		if err != nil || regs.Rip != before.Rip {
			return regs, err
		}
	}
	return nil, fmt.Errorf("the thread does not run the instruction at %#x", before.Rip)
}

// breakpoints returns the addresses of all breakpoints, also of Delve's own.
func (n *native) breakpoints() (out []uint64) {
	group, unlock := n.LockTargetGroup()
	defer unlock()
	for at := range group.Selected.Breakpoints().M {
		out = append(out, at)
	}
	return out
}
