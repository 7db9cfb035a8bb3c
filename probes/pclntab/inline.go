package pclntab

import (
	"encoding/binary"
	"iter"
	"sort"
)

// Frame is a function, and the line of its source that instructions are for.
type Frame struct {
	Function string
	Line     int
}

// Stacks yields the stretches of the function's code that have the same frames, by address: the end of each, and its
// frames. The first frame is the innermost function that the compiler inlined there, the last the function itself.
// There are no frames where it is not known what was inlined.
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

// frames returns the frames of an instruction.
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

// maxInlined bounds how deep functions were inlined into each other.
const maxInlined = 256

// inlineTree is the number of the table that has, for an instruction, the number of its inlined call; negative: none.
const inlineTree = 2

// inlinedCalls returns, by instruction, the numbers of the function's inlined calls.
func (f *Func) inlinedCalls() stretches {
	const at = recordSize + 4*inlineTree
	if len(f.record) < at+4 {
		return nil
	}
	return f.stretches(f.tableAt(at))
}

// inlinedCall returns the inlined call that has a number: the called function, and an instruction of the line that
// calls it.
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
	if begin+size > uint64(len(f.table.trees)) { // also if the function has no tree
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

// at returns the value for an instruction.
func (s stretches) at(pc uint64) (v int32, ok bool) {
	i := s.find(pc)
	if i == len(s) {
		return 0, false
	}
	return s[i].value, true
}

// end returns where the stretch of an instruction ends. Behind all stretches it returns last.
func (s stretches) end(pc, last uint64) uint64 {
	i := s.find(pc)
	if i == len(s) {
		return last
	}
	return min(s[i].end, last)
}
