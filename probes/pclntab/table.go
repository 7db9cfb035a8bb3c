package pclntab

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"sort"
)

// magic is that of the table since Go 1.20.
const magic = 0xfffffff1

// Table is a program's table of functions. All addresses are those at which the program
// was linked. It keeps the bytes that it was made of. It is for one goroutine at a time.
type Table struct {
	text    uint64 // the address of runtime.text
	quantum uint64 // all instructions are of a multiple of as many bytes
	names   []byte // each name ends with a NUL
	units   []byte // the files of compilation units: offsets into files
	files   []byte // each path ends with a NUL
	pctab   []byte // by program counter: varints
	funcs   []byte // the index of functions, then what is known of each
	n       int    // how many functions there are
	// trees is no part of the table: it has for functions which were put into them. Open
	// finds it.
	trees []byte

	byName map[uint64]uint32 // numbers of functions by their names' hashes, once it was asked for
}

const (
	headerSize = 8 + 8*8
	entrySize  = 8 // of the index: where the code begins, where its description is
)

// Parse reads a table. text is the address of runtime.text, which is that of the section
// .text unless a C linker has put other code in front.
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

// entry is where the code of a function begins; i may be n, for the end of the code.
func (t *Table) entry(i int) uint64 {
	return t.text + uint64(binary.LittleEndian.Uint32(t.funcs[i*entrySize:]))
}

// Find is the function that an address is in.
func (t *Table) Find(pc uint64) (*Func, bool) {
	if pc < t.entry(0) || pc >= t.entry(t.n) {
		return nil, false
	}
	// The first that begins behind pc; the one before it is meant.
	i := sort.Search(t.n, func(i int) bool { return t.entry(i) > pc })
	return t.Function(i - 1)
}

var seed = maphash.MakeSeed()

// ByName is the function with that name; of several, the last. The first call takes some
// time and memory for an index.
func (t *Table) ByName(name string) (*Func, bool) {
	if t.byName == nil {
		t.byName = make(map[uint64]uint32, t.n)
		for i, name := range t.Names() {
			t.byName[maphash.Bytes(seed, name)] = uint32(i)
		}
	}
	i, ok := t.byName[maphash.String(seed, name)]
	if !ok {
		return nil, false
	}
	f, ok := t.Function(int(i))
	return f, ok && f.Name == name
}

// Names are the names of the program's functions, by number, which is in the order of
// addresses. They are the table's own bytes. Those that cannot be read are left out.
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

// Mentions reports whether a name is in the table, which also has those of functions of
// which no copy is left, since the compiler put them into all their callers.
func (t *Table) Mentions(name string) bool {
	return bytes.Contains(t.names, []byte("\x00"+name+"\x00"))
}

// recordSize is that of the runtime's type _func, without the lists behind it.
const recordSize = 44

// record is what is known of a function.
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

// textAt is the text that begins at an offset, and ends with a NUL.
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

// All are the program's functions, by address. Those that cannot be read are left out.
func (t *Table) All() iter.Seq[*Func] {
	return func(yield func(*Func) bool) {
		for i := range t.n {
			if f, ok := t.Function(i); ok && !yield(f) {
				return
			}
		}
	}
}

// Function is the function of a number.
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
	const dataAt = 43 // how much there is
	return &Func{
		Name: string(name), Entry: t.entry(i), End: t.entry(i + 1),
		table: t, record: record, data: data[:min(len(data), 4*int(record[dataAt]))],
	}, true
}
