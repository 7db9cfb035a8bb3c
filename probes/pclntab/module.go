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
	moduleTypes = 37 * 8 // where the types begin; the next word is where they end
	moduleTrees = 40 * 8
)

// moduleSections are the sections that may have it: from Go 1.26 on it has a section of its own.
var moduleSections = []string{".go.module", ".noptrdata", ".data"}

// module is the runtime's data about a program's module, in a section.
type module struct {
	section, relocations Section
	at                   int
}

// word returns the word at an offset, as it is when the program has been loaded.
func (m *module) word(off int) uint64 {
	if v := m.section.word(m.at + off); v != 0 {
		return v
	}
	return relocated(m.relocations, m.section.Addr+uint64(m.at+off))
}

// findModule finds the runtime's data about the module that has a table. It returns nil if it does not find it.
func findModule(file *elf.File, data []byte, table, relocations Section) *module {
	names := table.Addr + table.word(8+3*8)
	for _, name := range moduleSections {
		s, ok := sectionOf(file, data, name)
		if !ok {
			continue
		}
		for at := range modules(s, table.Addr, relocations) {
			if m := (&module{s, relocations, at}); m.word(moduleNames) == names {
				return m
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
