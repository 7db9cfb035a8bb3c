//go:build linux && amd64

package delve

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-delve/delve/service/api"
	"github.com/go-delve/delve/service/rpc2"
	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/inside/reading"
	"github.com/podstep/podstep/probes/memory"
)

// target is a program under Delve. One goroutine uses it; others may call halt.
type target struct {
	conn
	pid    int
	remote string  // the address of a headless Delve
	close  func()  // closes the connection to it
	gone   bool    // the headless Delve is gone
	own    *native // the Delve in this process

	breakpoints []int // Delve's numbers of those that are set
	// cover is called with addresses before breakpoints are set there.
	cover func(addresses []uint64) error
}

// run lets the program go on by a command, until it stands still again.
func (t *target) run(c api.DebuggerCommand) (*api.DebuggerState, error) {
	var out rpc2.CommandOut
	if err := t.call("Command", c, &out); err != nil {
		switch {
		case strings.Contains(err.Error(), "has exited"): // proc.ErrProcessExited, of which a remote Delve sends only the text
			return nil, errExited
		case t.remote != "" && lost(err):
			t.gone = true
			return nil, fmt.Errorf("the Delve at %s is gone (%w); the kubelet is as that Delve left it", t.remote, err)
		}
		return nil, err
	}
	if out.State.Exited {
		return nil, errExited
	}
	return &out.State, nil
}

var errExited = errors.New("the kubelet has ended")

// halt makes the program stand still. Another goroutine may be in run.
func (t *target) halt() error {
	var out rpc2.CommandOut
	return t.call("Command", api.DebuggerCommand{Name: api.Halt}, &out)
}

// set puts one breakpoint of Delve's at all addresses, which takes less time than one each. It returns Delve's number
// of it.
func (t *target) set(addresses []uint64) (number int, err error) {
	if t.cover != nil {
		if err := t.cover(addresses); err != nil {
			return 0, fmt.Errorf("set breakpoints: %w", err)
		}
	}
	var out rpc2.CreateBreakpointOut
	if err := t.call("CreateBreakpoint", rpc2.CreateBreakpointIn{Breakpoint: api.Breakpoint{Addrs: addresses}}, &out); err != nil {
		return 0, fmt.Errorf("set breakpoints: %w", err)
	}
	t.breakpoints = append(t.breakpoints, out.Breakpoint.ID)
	return out.Breakpoint.ID, nil
}

// clear takes a breakpoint back.
func (t *target) clear(number int) error {
	var out rpc2.ClearBreakpointOut
	if err := t.call("ClearBreakpoint", rpc2.ClearBreakpointIn{Id: number}, &out); err != nil {
		return fmt.Errorf("clear breakpoints: %w", err)
	}
	t.breakpoints = slices.DeleteFunc(t.breakpoints, func(n int) bool { return n == number })
	return nil
}

// clearAll takes all breakpoints back.
func (t *target) clearAll() (err error) {
	for _, n := range slices.Clone(t.breakpoints) {
		err = errors.Join(err, t.clear(n))
	}
	return err
}

// leave takes all breakpoints back and lets the program go on. Where a headless Delve was there before, it stays;
// where not, none does. A headless Delve that is gone has let the program go itself, or never will.
func (t *target) leave() error {
	if t.gone {
		t.close()
		return nil
	}
	err := errors.Join(t.clearAll(), t.drain())
	if t.remote == "" {
		var out rpc2.DetachOut
		return errors.Join(err, t.call("Detach", rpc2.DetachIn{Kill: false}, &out))
	}
	defer t.close()
	var multi rpc2.IsMulticlientOut
	if t.call("IsMulticlient", rpc2.IsMulticlientIn{}, &multi) == nil && multi.IsMulticlient {
		// The headless Delve does not answer until the program stands still again.
		done := make(chan error, 1)
		go func() { done <- safely(t.goOnOnce) }()
		return errors.Join(err, t.untilRuns(done))
	}
	// A headless Delve for a single client ends with that client, and lets go of the program.
	var out rpc2.DetachOut
	return errors.Join(err, t.call("Detach", rpc2.DetachIn{Kill: false}, &out))
}

// hit is a thread that stands at a breakpoint.
type hit struct {
	tid int
	pc  uint64
}

// goOn lets the program run until it stands still again, and returns the threads that are at breakpoints.
func (t *target) goOn() (hits []hit, err error) {
	if t.own != nil {
		return t.own.goOn()
	}
	state, err := t.run(api.DebuggerCommand{Name: api.Continue})
	if err != nil {
		return nil, err
	}
	for _, th := range state.Threads {
		if th.Breakpoint != nil {
			hits = append(hits, hit{th.ID, th.PC})
		}
	}
	return hits, nil
}

// registers returns the registers of a thread that stands still.
func (t *target) registers(tid int) (*unix.PtraceRegs, error) {
	if t.own != nil {
		return t.own.regs(tid)
	}
	var answer rpc2.ListRegistersOut
	if err := t.call("ListRegisters", rpc2.ListRegistersIn{ThreadID: tid}, &answer); err != nil {
		return nil, fmt.Errorf("read the registers of thread %d: %w", tid, err)
	}
	out := &unix.PtraceRegs{}
	for _, r := range answer.Regs {
		hex, _, _ := strings.Cut(r.Value, " ")
		v, err := strconv.ParseUint(strings.TrimPrefix(hex, "0x"), 16, 64)
		if err != nil {
			continue
		}
		if to, ok := general(out)[strings.ToUpper(r.Name)]; ok {
			*to = v
		}
	}
	return out, nil
}

// general returns the general registers by Delve's names.
func general(r *unix.PtraceRegs) map[string]*uint64 {
	return map[string]*uint64{
		"RIP": &r.Rip, "RSP": &r.Rsp, "RBP": &r.Rbp, "RAX": &r.Rax, "RBX": &r.Rbx, "RCX": &r.Rcx, "RDX": &r.Rdx, "RSI": &r.Rsi, "RDI": &r.Rdi,
		"R8": &r.R8, "R9": &r.R9, "R10": &r.R10, "R11": &r.R11, "R12": &r.R12, "R13": &r.R13, "R14": &r.R14, "R15": &r.R15,
	}
}

// stopped returns what a thread's registers show of a stop. The caller fills in the place.
func stopped(tid int, r *unix.PtraceRegs) reading.Stopped {
	out := reading.Stopped{TID: tid, SP: r.Rsp, BP: r.Rbp, G: r.R14}
	all := general(r)
	for i, name := range memory.Registers["amd64"] {
		out.Registers[i] = *all[name]
	}
	return out
}

// longestRead bounds how many bytes of memory Delve reads at once.
const longestRead = 1000

// read reads the program's memory through Delve.
func (t *target) read(at uint64, b []byte) error {
	for len(b) > 0 {
		n := min(len(b), longestRead)
		var out rpc2.ExaminedMemoryOut
		if err := t.call("ExamineMemory", rpc2.ExamineMemoryIn{Address: at, Length: n}, &out); err != nil {
			return err
		}
		if len(out.Mem) < n {
			return fmt.Errorf("read memory at %#x: only %d of %d bytes are there", at, len(out.Mem), n)
		}
		copy(b, out.Mem)
		b, at = b[n:], at+uint64(n)
	}
	return nil
}

// knows reports whether Delve knows the program's variables.
func (t *target) knows() bool {
	var out rpc2.ListPackageVarsOut
	err := t.call("ListPackageVars", rpc2.ListPackageVarsIn{Filter: `^runtime\.buildVersion$`}, &out)
	return err == nil && len(out.Variables) > 0
}
