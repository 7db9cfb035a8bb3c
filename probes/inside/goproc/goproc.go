// Package goproc knows what the file of a Go program does not have: where in a process the program was
// loaded, and where Go's runtime keeps a goroutine's data.
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

// Layout has offsets in the runtime's struct g, in bytes. Number is a goroutine's number, Parent that of the
// goroutine that started it, and Start the address of its first function. Syscall is the stack pointer of its system
// call; behind it is the address in the program.
type Layout struct{ Number, Parent, Start, Syscall uint32 }

// layouts are by Go's minor version. They follow src/runtime/runtime2.go, as the compiler lays it out for amd64 and
// arm64 alike.
var layouts = map[int]Layout{
	21: {Number: 152, Parent: 272, Start: 296, Syscall: 112},
	22: {Number: 152, Parent: 272, Start: 296, Syscall: 112},
	23: {Number: 160, Parent: 280, Start: 304, Syscall: 112},
	24: {Number: 160, Parent: 280, Start: 304, Syscall: 112},
	25: {Number: 152, Parent: 272, Start: 296, Syscall: 104},
	26: {Number: 152, Parent: 280, Start: 304, Syscall: 104},
	27: {Number: 152, Parent: 280, Start: 304, Syscall: 104},
}

var minor = regexp.MustCompile(`\bgo1\.(\d+)`)

// Minor returns the minor version of a version of Go, such as 26 for go1.26.8. ok is false if the version does not
// state it.
func Minor(version string) (n int, ok bool) {
	m := minor.FindStringSubmatch(version)
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[1])
	return n, err == nil
}

// LayoutOf returns the layout in programs that a minor version of Go compiled, if it is known.
func LayoutOf(minor int) (l Layout, ok bool) {
	l, ok = layouts[minor]
	return l, ok
}

// atEntry is the number of the auxiliary vector's item that has the program's entry.
const atEntry = 9

// Bias returns how far addresses in a process are above those in its program's file, which has that header. A
// position-independent program is loaded anywhere.
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
