//go:build linux && amd64

package rescue

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"os"

	"golang.org/x/arch/x86/x86asm"

	"github.com/podstep/podstep/probes/inside/goproc"
)

// image is a process's program: its code as the file has it, and its memory.
type image struct {
	pid   int
	text  []byte // the code, as the file has it
	at    uint64 // where the code is in the process
	call  uint64 // where a SYSCALL instruction is
	mem   *os.File
	unmap func()
}

func openImage(pid int) (*image, error) {
	data, unmap, err := goproc.Map(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return nil, err
	}
	m := &image{pid: pid, unmap: unmap}
	if err := m.findText(data); err != nil {
		unmap()
		return nil, err
	}
	if m.mem, err = os.OpenFile(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0); err != nil {
		unmap()
		return nil, err
	}
	return m, nil
}

// syscallCode is the instruction SYSCALL.
var syscallCode = []byte{0x0f, 0x05}

func (m *image) findText(data []byte) error {
	file, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return err
	}
	if file.Machine != elf.EM_X86_64 {
		return fmt.Errorf("its program is built for %v, not for amd64", file.Machine)
	}
	bias, err := goproc.Bias(m.pid, &file.FileHeader)
	if err != nil {
		return err
	}
	for _, p := range file.Progs {
		if p.Type != elf.PT_LOAD || p.Flags&elf.PF_X == 0 || p.Off+p.Filesz > uint64(len(data)) || p.Off+p.Filesz < p.Off {
			continue
		}
		text := data[p.Off : p.Off+p.Filesz]
		if len(text) > len(m.text) {
			m.text, m.at = text, p.Vaddr+bias
		}
	}
	at := bytes.Index(m.text, syscallCode)
	if at < 0 {
		return errors.New("its program makes no system call")
	}
	m.call = m.at + uint64(at)
	return nil
}

// instruction returns the bytes of the instruction that the program's file has at an address of the process.
func (m *image) instruction(at uint64) ([]byte, error) {
	if at < m.at || at-m.at >= uint64(len(m.text)) {
		return nil, fmt.Errorf("address %#x is not in the program's code", at)
	}
	code := m.text[at-m.at:]
	inst, err := x86asm.Decode(code[:min(len(code), mostLength)], 64)
	if err != nil {
		return nil, fmt.Errorf("read the instruction at %#x: %w", at, err)
	}
	return code[:inst.Len], nil
}

// write writes to the memory of the process, also to code.
func (m *image) write(at uint64, b []byte) error {
	n, err := m.mem.WriteAt(b, int64(at))
	if err != nil {
		return fmt.Errorf("write %d bytes at %#x (only %d were): %w", len(b), at, n, err)
	}
	return nil
}

func (m *image) close() {
	_ = m.mem.Close()
	m.unmap()
}
