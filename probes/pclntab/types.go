package pclntab

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
)

// Types returns the part of the program that has its types, as it is when the program has been loaded. It is empty if it
// was not found.
func (t *Table) Types() Section {
	if t.types == nil {
		return Section{}
	}
	return t.types()
}

func (m *module) types(file *elf.File, data []byte) Section {
	begin, end := m.word(moduleTypes), m.word(moduleTypes+8)
	all := from(file, data, begin)
	if end < begin || end-begin > uint64(len(all)) {
		return Section{}
	}
	s := Section{begin, all[:end-begin]}
	if len(m.relocations.Data) > 0 {
		s.relocate(m.relocations)
	}
	return s
}

// relocate makes the section a copy with the addresses that the loader puts into it.
func (s *Section) relocate(relocations Section) {
	s.Data = bytes.Clone(s.Data)
	for b := relocations.Data; len(b) >= relocationSize; b = b[relocationSize:] {
		if at := binary.LittleEndian.Uint64(b) - s.Addr; at <= uint64(len(s.Data)) && uint64(len(s.Data))-at >= 8 {
			copy(s.Data[at:], b[16:relocationSize])
		}
	}
}
