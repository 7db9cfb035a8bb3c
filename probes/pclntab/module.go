package pclntab

import (
	"debug/elf"
	"encoding/binary"
)

// What the runtime knows of a program's module begins with the address of the table, and has
// those of its parts behind it: package runtime's moduledata, whose beginning has been the
// same since Go 1.20.
const (
	moduleTable = 0
	moduleNames = 8
	moduleText  = 22 * 8
	moduleTrees = 40 * 8
)

// moduleSections are where it is: from Go 1.26 on in a section of its own.
var moduleSections = []string{".go.module", ".noptrdata", ".data"}

// findTrees finds the part of the program that has which functions were put into others. It is
// not in the table, and nil if it is not found.
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

// modules are the places of a section at which the address of the table stands.
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

// from is what is in memory from an address on, to the end of its section.
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
