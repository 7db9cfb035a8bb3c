package pclntab

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"sort"
	"sync"
)

// magic is the first word of the table since Go 1.20.
const magic = 0xfffffff1

// Table is a program's table of functions. All addresses are those at which the program was linked. It keeps the
// bytes that it was made of. Several goroutines may use it.
type Table struct {
	text    uint64 // the address of runtime.text
	quantum uint64 // the length of each instruction is a multiple of it
	names   []byte // each name ends with a NUL
	units   []byte // the files of compilation units: offsets into files
	files   []byte // each path ends with a NUL
	pctab   []byte // by program counter: varints
	funcs   []byte // the index of functions, then their records
	n       int    // how many functions there are
	// trees says which functions were inlined into others. It is not part of the table: Open finds it.
	trees []byte
	// types reads what Types returns. Open finds it.
	types func() Section

	index  sync.Once         // of byName
	byName map[uint64]uint32 // numbers of functions by their names' hashes
}

const (
	headerSize = 8 + 8*8
	entrySize  = 8 // of the index: where the function's code begins, where its record is
)

// Parse reads a table. text is the address of runtime.text. This is the address of the section .text, unless a C
// linker has put other code first.
func Parse(data []byte, text uint64) (*Table, error) {
	if len(data) < headerSize {
		return nil, errors.New("it is too short")
	}
	if got := binary.LittleEndian.Uint32(data); got != magic {
		return nil, fmt.Errorf("it is not one of Go 1.20 or later for a little-endian machine (it begins with %#x)", got)
	}
	if quantum := data[6]; quantum != 1 && quantum != 4 || data[7] != 8 {
		return nil, fmt.Errorf("instructions of %d bytes and pointers of %d are those of a machine that is not known here", quantum, data[7])
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(data[8+8*i:]) }
	var err error
	part := func(i int) []byte {
		if word(i) > uint64(len(data)) {
			err = errors.New("a part of it begins behind its end")
			return nil
		}
		return data[word(i):]
	}
	t := &Table{
		text: text, quantum: uint64(data[6]),
		names: part(3), units: part(4), files: part(5), pctab: part(6), funcs: part(7),
	}
	if err != nil {
		return nil, err
	}
	if behind := word(4); word(3) < behind {
		t.names = data[word(3):behind]
	}
	n := word(0)
	if n == 0 || n > uint64(len(t.funcs))/entrySize || n*entrySize+4 > uint64(len(t.funcs)) {
		return nil, fmt.Errorf("%d functions cannot be in it", n)
	}
	t.n = int(n)
	return t, nil
}

// entry returns where the code of function i begins. i may be n, for the end of the code.
func (t *Table) entry(i int) uint64 {
	return t.text + uint64(binary.LittleEndian.Uint32(t.funcs[i*entrySize:]))
}

// Find returns the function that has an address.
func (t *Table) Find(pc uint64) (*Func, bool) {
	if pc < t.entry(0) || pc >= t.entry(t.n) {
		return nil, false
	}
	// i is the first function that begins behind pc. The one before it has pc.
	i := sort.Search(t.n, func(i int) bool { return t.entry(i) > pc })
	return t.Function(i - 1)
}

var seed = maphash.MakeSeed()

// ByName returns the function with a name; if several have it, the last. The first call makes an index, which takes
// some time and memory.
func (t *Table) ByName(name string) (*Func, bool) {
	t.index.Do(t.indexNames)
	i, ok := t.byName[maphash.String(seed, name)]
	if !ok {
		return nil, false
	}
	f, ok := t.Function(int(i))
	return f, ok && f.Name == name
}

func (t *Table) indexNames() {
	t.byName = make(map[uint64]uint32, t.n)
	for i, name := range t.Names() {
		t.byName[maphash.Bytes(seed, name)] = uint32(i)
	}
}

// Names yields the functions' numbers and names, in the order of addresses. The names are the table's own bytes.
// Functions that cannot be read are left out.
func (t *Table) Names() iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		for i := range t.n {
			record, ok := t.record(i)
			if !ok {
				continue
			}
			if name, ok := t.name(record); ok && !yield(i, name) {
				return
			}
		}
	}
}

// Mentions reports whether the table has a name. It also has the names of functions of which no copy is left, because
// the compiler inlined them into all their callers.
func (t *Table) Mentions(name string) bool {
	return bytes.Contains(t.names, []byte("\x00"+name+"\x00"))
}

// recordSize is the size of the runtime's type _func, without the lists behind it.
const recordSize = 44

// record returns the record of function i.
func (t *Table) record(i int) ([]byte, bool) {
	at := uint64(binary.LittleEndian.Uint32(t.funcs[i*entrySize+4:]))
	if at+recordSize > uint64(len(t.funcs)) {
		return nil, false
	}
	return t.funcs[at:], true
}

func (t *Table) name(record []byte) ([]byte, bool) {
	return textAt(t.names, uint64(binary.LittleEndian.Uint32(record[4:])))
}

// textAt returns the text that begins at an offset and ends with a NUL.
func textAt(b []byte, at uint64) ([]byte, bool) {
	if at >= uint64(len(b)) {
		return nil, false
	}
	end := bytes.IndexByte(b[at:], 0)
	if end < 0 {
		return nil, false
	}
	return b[at : at+uint64(end)], true
}

// All yields the program's functions, by address. Functions that cannot be read are left out.
func (t *Table) All() iter.Seq[*Func] {
	return func(yield func(*Func) bool) {
		for i := range t.n {
			if f, ok := t.Function(i); ok && !yield(f) {
				return
			}
		}
	}
}

// Function returns the function with a number.
func (t *Table) Function(i int) (*Func, bool) {
	record, ok := t.record(i)
	if !ok {
		return nil, false
	}
	pcdata := uint64(binary.LittleEndian.Uint32(record[28:])) * 4
	name, ok := t.name(record)
	if !ok || recordSize+pcdata > uint64(len(record)) {
		return nil, false
	}
	record, data := record[:recordSize+pcdata], record[recordSize+pcdata:]
	const dataAt = 43 // the number of data offsets
	return &Func{
		Name: string(name), Entry: t.entry(i), End: t.entry(i + 1),
		table: t, record: record, data: data[:min(len(data), 4*int(record[dataAt]))],
	}, true
}
