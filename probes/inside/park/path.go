//go:build linux && (amd64 || arm64)

package park

import (
	"errors"
	"fmt"
	"strings"

	"github.com/podstep/podstep/probes/pclntab"
)

// path is the way of a parked goroutine: into the system call, and back through the ends of two functions to where it
// was. All addresses are as the program was linked.
type path struct {
	// enter is in syscall.Syscall6, where its frame stands and its arguments are still in registers. From there on
	// the goroutine cannot be preempted. At the function's entry it could be, and would then wait on another thread.
	enter tail
	// room is where Syscall6 returns to: the end of debugCall128 on amd64, of RawSyscall6 on arm64. Its frame has room for
	// a callee's words, and for what the system call reads.
	room tail
	// registers is where that function returns to: the end of debugCallV2, which restores the registers from its frame.
	registers tail
	// slots are where in that frame each register is, by its number in the package that decodes the instructions.
	slots map[int]int64
	// size is the size of the frames that Park adds.
	size uint64
}

// tail is an address from which a goroutine runs to the end of a function whose frame stands.
type tail struct {
	pc    uint64
	delta uint64 // the size of the function's frame, with the saved frame pointer
}

// finders finds the parts of a path by the names of their functions.
type finders map[string]func(*Program, *pclntab.Func, *path) error

// findAll finds all parts of a path. Several functions may have a name.
func (p *Program) findAll(find finders) (*path, error) {
	out := &path{}
	for i, name := range p.table.Names() {
		find := find[string(name)]
		if find == nil {
			continue
		}
		f, ok := p.table.Function(i)
		if !ok {
			continue
		}
		if err := find(p, f, out); err != nil {
			return nil, fmt.Errorf("%s is not as it is known: %w", f.Name, err)
		}
	}
	switch {
	case out.registers.pc == 0:
		return nil, errors.New(DebugCall + " is not in it")
	case out.room.pc == 0:
		return nil, errors.New("the function to which the system call returns is not in it")
	case out.enter.pc == 0:
		return nil, errors.New("syscall.Syscall6 is not in it")
	}
	return out, nil
}

// notifies reports whether a function notifies the scheduler of a system call: its first call is entersyscall, and its last
// one exitsyscall.
func (p *Program) notifies(code []inst) (bool, error) {
	calls := []string{}
	for n := range code {
		if name := p.callee(&code[n]); name != "" {
			calls = append(calls, name)
		}
	}
	if len(calls) == 0 || calls[0] != "runtime.entersyscall" {
		return false, nil
	}
	if calls[len(calls)-1] != "runtime.exitsyscall" {
		return false, fmt.Errorf("it calls %s", strings.Join(calls, ", "))
	}
	return true, nil
}

// known checks the size of a function's frame at an address against the runtime's table.
func known(f *pclntab.Func, pc, delta uint64) error {
	if d, ok := f.Delta(pc); !ok || uint64(d) != delta {
		return fmt.Errorf("its frame has %d bytes, and the runtime takes it to have %d", delta, d)
	}
	return nil
}

// unsafe checks that a function's goroutine cannot be preempted in this code.
func unsafe(f *pclntab.Func, code []inst) error {
	for _, i := range code {
		if f.Safe(i.PC) {
			return fmt.Errorf("its goroutine can be preempted at %#x", i.PC)
		}
	}
	return nil
}
