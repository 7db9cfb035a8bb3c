package pclntab

import (
	"debug/elf"
	"encoding/binary"
)

// The runtime's data about a program's module begins with the address of the table. Behind it are the addresses of
// the table's parts. It is package runtime's moduledata, whose beginning has been the same since Go 1.20.
const (
	moduleTable = 0
	moduleNames = 8
	moduleText  = 22 * 8
	moduleTrees = 40 * 8
)

// moduleSections are the sections that may have it: from Go 1.26 on it has a section of its own.
var moduleSections = []string{".go.module", ".noptrdata", ".data"}

// findTrees finds the program's data about inlined functions, which is outside the table. It returns nil if it does
// not find it.
func findTrees(file *elf.File, data []byte, table, relocations Section) []byte {
	names := table.Addr + table.word(8+3*8)
	for _, name := range moduleSections {
		s, ok := sectionOf(file, data, name)
		if !ok {
			continue
		}
		for at := range modules(s, table.Addr, relocations) {
			value := func(off int) uint64 {
				if v := s.word(at + off); v != 0 {
					return v
				}
				return relocated(relocations, s.Addr+uint64(at+off))
			}
			if value(moduleNames) == names {
				return from(file, data, value(moduleTrees))
			}
		}
	}
	return nil
}

// modules yields the offsets in a section at which the address of the table stands.
func modules(s Section, table uint64, relocations Section) func(yield func(at int) bool) {
	return func(yield func(at int) bool) {
		for at := 0; at+8 <= len(s.Data); at += 8 {
			if s.word(at) == table && !yield(at) {
				return
			}
		}
		for b := relocations.Data; len(b) >= relocationSize; b = b[relocationSize:] {
			to := binary.LittleEndian.Uint64(b) - s.Addr
			if binary.LittleEndian.Uint64(b[16:]) == table && to < uint64(len(s.Data)) && !yield(int(to)) {
				return
			}
		}
	}
}

// from returns the memory from an address to the end of its section.
func from(file *elf.File, data []byte, at uint64) []byte {
	for _, s := range file.Sections {
		if s.Flags&elf.SHF_ALLOC == 0 || at < s.Addr || at-s.Addr >= s.Size {
			continue
		}
		if all, ok := sectionOf(file, data, s.Name); ok && all.Addr == s.Addr {
			return all.Data[at-s.Addr:]
		}
	}
	return nil
}
