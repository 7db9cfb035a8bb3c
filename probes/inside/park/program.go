//go:build linux && (amd64 || arm64)

package park

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/inside/gocode"
	"github.com/podstep/podstep/probes/inside/goproc"
	"github.com/podstep/podstep/probes/pclntab"
)

// Program is a running Go program, with all that is needed to park its goroutines.
type Program struct {
	PID int
	// Go is the version of Go that it was built by.
	Go string
	// SetRegs sets the registers of a thread in a ptrace stop. It is set if another process than Park's caller traces
	// the thread.
	SetRegs func(tid int, regs *unix.PtraceRegs) error

	file  []byte // the whole program, mapped
	unmap func()
	text  gocode.Code
	isa   isa
	table *pclntab.Table
	bias  uint64 // what is added to the addresses at which it was linked
	path  *path
	need  uint64 // how much stack parking takes
	goid  uint64 // where in a g its number is
	// syscall is where in a g the stack pointer of a system call is. Behind it is the address in the program.
	syscall uint64

	looked map[uint64]looked // the places of functions, by where the functions begin
}

// looked has the places of a function, and the reason why it lacks its entry or its exits.
type looked struct {
	places []Place
	why    *RefusedError
}

// oldest and newest are minor versions of Go. From oldest to newest it is known that goroutines can be parked.
const oldest, newest = 22, 26

// Open looks at the program that a process runs. It fails if the program's goroutines cannot be parked.
func Open(pid int) (*Program, error) {
	p := &Program{PID: pid}
	if err := p.open(); err != nil {
		p.Close()
		return nil, fmt.Errorf("look at the program of process %d: %w", pid, err)
	}
	return p, nil
}

// Close lets go of the program's file.
func (p *Program) Close() {
	if p.unmap != nil {
		p.unmap()
		p.unmap = nil
	}
}

func (p *Program) open() error {
	var err error
	if p.file, p.unmap, err = goproc.Map(fmt.Sprintf("/proc/%d/exe", p.PID)); err != nil {
		return err
	}
	file, err := elf.NewFile(bytes.NewReader(p.file))
	if err != nil {
		return err
	}
	if file.Machine != machine {
		return fmt.Errorf("it is built for %v, and this machine is %v", file.Machine, machine)
	}
	if err := p.version(); err != nil {
		return err
	}
	if err := p.environment(); err != nil {
		return err
	}
	if p.bias, err = goproc.Bias(p.PID, &file.FileHeader); err != nil {
		return err
	}
	return p.look(file)
}

// look looks at the program's code.
func (p *Program) look(file *elf.File) error {
	table, text, err := pclntab.Open(file, p.file)
	if err != nil {
		return err
	}
	p.table = table
	if p.text, err = gocode.Of(file.Machine, text); err != nil {
		return err
	}
	if p.isa, err = isaOf(file.Machine, text); err != nil {
		return err
	}
	if p.path, err = p.isa.findPath(p); err != nil {
		return err
	}
	p.need, err = p.stackNeed()
	return err
}

func (p *Program) version() error {
	info, err := buildinfo.Read(bytes.NewReader(p.file))
	if err != nil {
		return fmt.Errorf("it is no Go program: %w", err)
	}
	p.Go = info.GoVersion
	n, ok := goproc.Minor(info.GoVersion)
	if !ok {
		return fmt.Errorf("it was built by Go %q, which is no release", info.GoVersion)
	}
	layout, ok := goproc.LayoutOf(n)
	if !ok || n < oldest || n > newest {
		return fmt.Errorf("it was built by go1.%d: holding inside is known to work for Go 1.%d to 1.%d", n, oldest, newest)
	}
	p.goid, p.syscall = uint64(layout.Number), uint64(layout.Syscall)
	return nil
}

// environment refuses a setting with which the runtime would move a parked goroutine's stack. With gcstoptheworld a
// goroutine that comes out of a system call may wait once more, and its stack may be copied then.
func (p *Program) environment() error {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.PID))
	if err != nil {
		return err
	}
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if bytes.HasPrefix(v, []byte("GODEBUG=")) && bytes.Contains(v, []byte("gcstoptheworld=")) {
			return errors.New("it runs with GODEBUG=gcstoptheworld, in which no goroutine can be parked from outside")
		}
	}
	return nil
}

// function returns the function that an address of the process is in.
func (p *Program) function(pc uint64) (*pclntab.Func, bool) { return p.table.Find(pc - p.bias) }
