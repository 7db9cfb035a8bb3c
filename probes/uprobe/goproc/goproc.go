// Package goproc knows of a process that runs a Go program on amd64 what its file does not
// have: where the program was loaded, and where the runtime keeps what of a goroutine.
package goproc

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
)

// Layout is where in the runtime's struct g, in bytes, a goroutine's number is, that of the
// goroutine that started it, and the address of its first function; and the stack pointer
// with which it is in a system call, behind which is the place in the program.
type Layout struct{ Number, Parent, Start, Syscall uint32 }

// layouts are by Go's minor version: those of src/runtime/runtime2.go, as the compiler lays
// them out for amd64.
var layouts = map[int]Layout{
	22: {Number: 152, Parent: 272, Start: 296, Syscall: 112},
	23: {Number: 160, Parent: 280, Start: 304, Syscall: 112},
	24: {Number: 160, Parent: 280, Start: 304, Syscall: 112},
	25: {Number: 152, Parent: 272, Start: 296, Syscall: 104},
	26: {Number: 152, Parent: 280, Start: 304, Syscall: 104},
	27: {Number: 152, Parent: 280, Start: 304, Syscall: 104},
}

var minor = regexp.MustCompile(`\bgo1\.(\d+)`)

// Minor is the minor version of a version of Go, such as 26 of go1.26.8; ok is false if it
// is no release's.
func Minor(version string) (n int, ok bool) {
	m := minor.FindStringSubmatch(version)
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[1])
	return n, err == nil
}

// LayoutOf is the layout in programs that a minor version of Go compiled, if it is known.
func LayoutOf(minor int) (l Layout, ok bool) {
	l, ok = layouts[minor]
	return l, ok
}

// atEntry is the number of the auxiliary vector's item that has the program's entry.
const atEntry = 9

// Bias is by how much addresses in a process are above those in its program's file, which
// has that header: programs that are position-independent are put anywhere.
func Bias(pid int, file *elf.FileHeader) (uint64, error) {
	auxv, err := os.ReadFile(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil {
		return 0, err
	}
	for ; len(auxv) >= 16; auxv = auxv[16:] {
		if binary.LittleEndian.Uint64(auxv) != atEntry {
			continue
		}
		bias := binary.LittleEndian.Uint64(auxv[8:]) - file.Entry
		if bias != 0 && file.Type != elf.ET_DYN {
			return 0, errors.New("it is not loaded where it was linked to be")
		}
		return bias, nil
	}
	return 0, errors.New("the kernel does not report where it was loaded")
}
