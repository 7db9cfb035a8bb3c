//go:build linux

package uprobe

import (
	"bytes"
	"debug/elf"
	"fmt"
	"sync"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/gotypes"
	"github.com/podstep/podstep/probes/inside/gocode"
	"github.com/podstep/podstep/probes/inside/goproc"
	"github.com/podstep/podstep/probes/pclntab"
)

// image is a Go program's file: its functions, and the offsets in the file of the code that is loaded.
type image struct {
	functions *pclntab.Table
	code      gocode.Code
	header    elf.FileHeader
	segments  []elf.ProgHeader // the executable ones
}

func newImage(file *elf.File, functions *pclntab.Table, text pclntab.Section) (*image, error) {
	code, err := gocode.Of(file.Machine, text)
	if err != nil {
		return nil, err
	}
	i := &image{functions: functions, code: code, header: file.FileHeader}
	for _, s := range file.Progs {
		if s.Type == elf.PT_LOAD && s.Flags&elf.PF_X != 0 {
			i.segments = append(i.segments, s.ProgHeader)
		}
	}
	return i, nil
}

// program is a kubelet's program on disk. Its file is mapped, and has 80 MiB: nothing of it is kept when the plan is
// made.
type program struct {
	*probes.Binary
	*image
	close func()
	// types are the types that the program keeps for reflection. They are read when they are asked for.
	types func() *gotypes.Types
}

// openProgram reads the program of a file. Nothing of it may be used after close.
func openProgram(path string) (*program, error) {
	data, unmap, err := goproc.Map(path)
	if err != nil {
		return nil, fmt.Errorf("read kubelet: %w", err)
	}
	p, err := newProgram(data)
	if err != nil {
		unmap()
		return nil, fmt.Errorf("read kubelet %s: %w", path, err)
	}
	p.close = unmap
	return p, nil
}

func newProgram(data []byte) (*program, error) {
	b, err := probes.ParseBinary(data)
	if err != nil {
		return nil, err
	}
	file, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	image, err := newImage(file, b.Functions, b.Text)
	if err != nil {
		return nil, err
	}
	types := sync.OnceValue(func() *gotypes.Types { return gotypes.Read(b.Functions.Types()) })
	return &program{Binary: b, image: image, types: types}, nil
}

// offset returns where in the file an address is. ok is false if the address is not in the code.
func (i *image) offset(addr uint64) (offset uint64, ok bool) {
	for _, s := range i.segments {
		if s.Vaddr <= addr && addr < s.Vaddr+s.Filesz {
			return addr - s.Vaddr + s.Off, true
		}
	}
	return 0, false
}

// bias returns how far addresses in a process of the program are above those in the file.
func (p *program) bias(pid int) (uint64, error) {
	bias, err := goproc.Bias(pid, &p.header)
	if err != nil {
		return 0, fmt.Errorf("find the kubelet's program in its memory: %w", err)
	}
	return bias, nil
}
