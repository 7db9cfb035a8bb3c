package pclntab

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
)

// Section is a part of a program, and the address in memory at which it was linked.
type Section struct {
	Addr uint64
	Data []byte
}

// Open finds the table and the code in a program's file. data has the whole file. Both results keep data.
func Open(file *elf.File, data []byte) (t *Table, text Section, err error) {
	text, ok := sectionOf(file, data, ".text")
	if !ok {
		return nil, text, errors.New("it has no .text section")
	}
	// In a program that can be loaded anywhere, the table is in a section that is relocated.
	table, ok := sectionOf(file, data, ".gopclntab")
	if !ok {
		table, ok = sectionOf(file, data, ".data.rel.ro.gopclntab")
	}
	if !ok {
		return nil, text, errors.New("it has no table of Go functions (.gopclntab): was it stripped of more than symbols?")
	}
	if t, err = Parse(table.Data, text.Addr); err != nil {
		return nil, text, fmt.Errorf("its table of Go functions cannot be read: %w", err)
	}
	relocations, _ := sectionOf(file, data, ".rela.dyn")
	// The table has the address of the code. In programs of Go 1.26 the runtime's data about the module has it
	// instead.
	const inTable = 8 + 2*8
	module, _ := sectionOf(file, data, ".go.module")
	for _, at := range []uint64{
		table.word(inTable), relocated(relocations, table.Addr+inTable),
		module.word(moduleText), relocated(relocations, module.Addr+moduleText),
	} {
		if t.fits(at, text) {
			t.text = at
			break
		}
	}
	if m := findModule(file, data, table, relocations); m != nil {
		t.trees = from(file, data, m.word(moduleTrees))
		t.types = func() Section { return m.types(file, data) }
	}
	return t, text, nil
}

// fits reports whether all functions are in the section if their code begins at an address.
func (t *Table) fits(at uint64, text Section) bool {
	size, length := uint64(len(text.Data)), t.entry(t.n)-t.text
	return at >= text.Addr && at-text.Addr <= size && length <= size-(at-text.Addr)
}

// word returns the word at an offset of a section; 0: it is outside.
func (s Section) word(at int) uint64 {
	if len(s.Data) < at+8 {
		return 0
	}
	return binary.LittleEndian.Uint64(s.Data[at:])
}

// relocationSize is the size of a relocation: its place, its kind, and its value.
const relocationSize = 3 * 8

// relocated returns the address that the loader puts at an address, both as the program was linked. 0: none.
func relocated(relocations Section, at uint64) uint64 {
	for b := relocations.Data; len(b) >= relocationSize; b = b[relocationSize:] {
		if binary.LittleEndian.Uint64(b) == at {
			return binary.LittleEndian.Uint64(b[16:])
		}
	}
	return 0
}

// sectionOf returns a section that the file has as it is in memory.
func sectionOf(file *elf.File, data []byte, name string) (Section, bool) {
	s := file.Section(name)
	if s == nil || s.Type == elf.SHT_NOBITS || s.Flags&elf.SHF_COMPRESSED != 0 || s.Offset > uint64(len(data)) || s.Size > uint64(len(data))-s.Offset {
		return Section{}, false
	}
	return Section{s.Addr, data[s.Offset : s.Offset+s.Size]}, true
}
