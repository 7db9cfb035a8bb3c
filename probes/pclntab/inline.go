package pclntab

import (
	"encoding/binary"
	"iter"
	"sort"
)

// Frame is a function that instructions are of, and the line of its source that they are for.
type Frame struct {
	Function string
	Line     int
}

// Stacks are the stretches of the function's code that are of the same lines, by address:
// where each ends, and its frames. The first is of the innermost function that the compiler
// has put in there, the last of the function itself. There are none where it is not known
// what was put in.
func (f *Func) Stacks() iter.Seq2[uint64, []Frame] {
	return func(yield func(end uint64, frames []Frame) bool) {
		lines, inlined := f.stretches(f.tableAt(lineAt)), f.inlinedCalls()
		last := f.Entry // behind the code is padding
		if len(lines) > 0 {
			last = min(lines[len(lines)-1].end, f.End)
		}
		for pc := f.Entry; pc < last; {
			end := min(lines.end(pc, last), inlined.end(pc, last))
			if !yield(end, f.frames(pc, lines, inlined)) {
				return
			}
			pc = end
		}
	}
}

// frames are those of an instruction.
func (f *Func) frames(pc uint64, lines, inlined stretches) (out []Frame) {
	for range maxInlined {
		line, _ := lines.at(pc)
		number, ok := inlined.at(pc)
		if !ok || number < 0 {
			return append(out, Frame{f.Name, int(line)})
		}
		name, at, ok := f.inlinedCall(number)
		if !ok {
			return nil
		}
		out = append(out, Frame{name, int(line)})
		pc = at
	}
	return nil
}

// maxInlined bounds how many functions were put one into the other.
const maxInlined = 256

// inlineTree is the number of the table that has for an instruction which of the function's
// inlined calls it is of; of none it is negative.
const inlineTree = 2

// inlinedCalls are the numbers of the inlined calls that instructions are of.
func (f *Func) inlinedCalls() stretches {
	const at = recordSize + 4*inlineTree
	if len(f.record) < at+4 {
		return nil
	}
	return f.stretches(f.tableAt(at))
}

// inlinedCall is an inlined call of a number: the function that is called, and an instruction
// that is for the line of the call.
func (f *Func) inlinedCall(number int32) (name string, at uint64, ok bool) {
	const (
		tree            = 3 // the number of the function's data that has the calls
		size            = 16
		nameAt, callsAt = 4, 8
	)
	if len(f.data) < 4*tree+4 {
		return "", 0, false
	}
	begin := uint64(binary.LittleEndian.Uint32(f.data[4*tree:])) + size*uint64(number)
	if begin+size > uint64(len(f.table.trees)) { // also of a function without a tree
		return "", 0, false
	}
	call := f.table.trees[begin : begin+size]
	text, ok := textAt(f.table.names, uint64(binary.LittleEndian.Uint32(call[nameAt:])))
	at = f.Entry + uint64(binary.LittleEndian.Uint32(call[callsAt:]))
	return string(text), at, ok && len(text) > 0 && at < f.End
}

// stretches are one of a function's tables, unpacked.
type stretches []stretch

type stretch struct {
	end   uint64
	value int32
}

func (f *Func) stretches(off uint32) (out stretches) {
	f.values(off, func(end uint64, v int32) bool {
		out = append(out, stretch{end, v})
		return true
	})
	return out
}

func (s stretches) find(pc uint64) int {
	return sort.Search(len(s), func(i int) bool { return pc < s[i].end })
}

// at is the value for an instruction.
func (s stretches) at(pc uint64) (v int32, ok bool) {
	i := s.find(pc)
	if i == len(s) {
		return 0, false
	}
	return s[i].value, true
}

// end is where the stretch of an instruction ends; behind all of them, last.
func (s stretches) end(pc, last uint64) uint64 {
	i := s.find(pc)
	if i == len(s) {
		return last
	}
	return min(s[i].end, last)
}
