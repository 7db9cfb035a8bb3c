package pclntab

import (
	"encoding/binary"
	"iter"
)

// Func is a function of the program.
type Func struct {
	Name string
	// Entry is where its code begins. End is where the code of the next function begins.
	Entry, End uint64

	table  *Table
	record []byte // the runtime's _func, and behind it the offsets in pctab of its further tables
	data   []byte // the offsets of its data outside the table
}

// Flags of a function, as package internal/abi has them.
const (
	flagTopFrame = 1 << iota
	flagSPWrite
	flagAsm
)

// Top reports whether nothing called the function, so that it is the outermost of a stack.
func (f *Func) Top() bool { return f.flags()&flagTopFrame != 0 }

// SPWrite reports whether the function sets the stack pointer to an unknown value, so that its caller cannot be
// found.
func (f *Func) SPWrite() bool { return f.flags()&flagSPWrite != 0 }

// Assembly reports whether the function was written in assembly.
func (f *Func) Assembly() bool { return f.flags()&flagAsm != 0 }

func (f *Func) flags() byte { return f.record[41] }

// Arguments returns how many bytes arguments and results take in the caller's frame, with the room for those that are
// in registers. It is negative if that is not known, as in assembly.
func (f *Func) Arguments() int {
	const at = 8 // in the record
	return int(int32(f.tableAt(at)))
}

// The offsets in a record at which it has where in pctab a table of the function begins.
const (
	spdeltaAt = 16
	fileAt    = 20
	lineAt    = 24
)

func (f *Func) tableAt(field int) uint32 { return binary.LittleEndian.Uint32(f.record[field:]) }

// Line returns the line of the source at which the function begins.
func (f *Func) Line() int { return f.LineAt(f.Entry) }

// File returns the path of the function's source file as the compiler had it.
func (f *Func) File() string { return f.FileAt(f.Entry) }

// LineAt returns the line of an instruction, which may have been inlined into the function.
func (f *Func) LineAt(pc uint64) int {
	line, _ := f.value(f.tableAt(lineAt), pc)
	return int(line)
}

// FileAt returns the file of an instruction.
func (f *Func) FileAt(pc uint64) string {
	n, ok := f.value(f.tableAt(fileAt), pc)
	if !ok {
		return ""
	}
	return f.file(n)
}

// file returns the file that has a number in the function's compilation unit.
func (f *Func) file(n int32) string {
	const unitAt = 32 // of the record
	at := 4 * (uint64(f.tableAt(unitAt)) + uint64(n))
	if n < 0 || at+4 > uint64(len(f.table.units)) {
		return ""
	}
	path, _ := textAt(f.table.files, uint64(binary.LittleEndian.Uint32(f.table.units[at:])))
	return string(path)
}

// Delta returns how far the stack pointer is below the function's return address before the instruction at pc. ok is
// false if the table does not have it.
func (f *Func) Delta(pc uint64) (delta int64, ok bool) {
	v, ok := f.value(f.tableAt(spdeltaAt), pc)
	return int64(v), ok && v >= 0
}

// Deltas yields the stretches of the function in which Delta is the same: the end of each, and its Delta.
func (f *Func) Deltas() iter.Seq2[uint64, int64] {
	return func(yield func(end uint64, delta int64) bool) {
		f.values(f.tableAt(spdeltaAt), func(end uint64, v int32) bool { return yield(min(end, f.End), int64(v)) })
	}
}

// MaxDelta returns the function's largest Delta.
func (f *Func) MaxDelta() int64 {
	most := int64(0)
	for _, delta := range f.Deltas() {
		most = max(most, delta)
	}
	return most
}

// unsafePoint is the number of the table of safe points. safe is the table's value for a safe point.
const (
	unsafePoint = 0
	safe        = -1
)

// Safe reports whether, as far as the runtime knows, a goroutine may be stopped right before the instruction at pc.
// It returns false in assembly, where the runtime stops goroutines only at calls.
func (f *Func) Safe(pc uint64) bool {
	if f.Assembly() || pc < f.Entry || pc >= f.End {
		return false
	}
	const at = recordSize + 4*unsafePoint
	if len(f.record) < at+4 {
		return true // without a table every place is safe
	}
	off := f.tableAt(at)
	if off == 0 {
		return true
	}
	v, ok := f.value(off, pc)
	return ok && v == safe
}

// value looks a program counter up in one of the function's tables.
func (f *Func) value(off uint32, pc uint64) (v int32, ok bool) {
	f.values(off, func(end uint64, at int32) bool {
		if pc < end {
			v, ok = at, pc >= f.Entry
			return false
		}
		return true
	})
	return v, ok
}

// values yields each stretch of one of the function's tables: the address at which it ends, and its value.
func (f *Func) values(off uint32, yield func(end uint64, v int32) bool) {
	pctab := f.table.pctab
	if off == 0 || uint64(off) >= uint64(len(pctab)) {
		return
	}
	p := pctab[off:]
	v, pc := int32(-1), f.Entry
	for first := true; pc < f.End; first = false {
		change, n := binary.Uvarint(p)
		if n <= 0 || change == 0 && !first {
			return
		}
		length, m := binary.Uvarint(p[n:])
		if m <= 0 || length == 0 {
			return
		}
		p = p[n+m:]
		v += zigzag(uint32(change))
		pc += length * f.table.quantum
		if !yield(pc, v) {
			return
		}
	}
}

// zigzag returns the signed number that was written as an unsigned one.
func zigzag(u uint32) int32 {
	if u&1 != 0 {
		return ^int32(u >> 1)
	}
	return int32(u >> 1)
}
