// Package callers finds the line of a step's function from which a call was made. It uses the addresses to which the
// functions under way on a goroutine return. It reads what it needs of the program's tables once: a program has a
// hundred megabytes, and a kubelet makes thousands of calls a second.
package callers

import (
	"cmp"
	"slices"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/pclntab"
)

// Table has the lines of some functions' code.
type Table struct {
	functions []function // by address
}

// function is the code of a function, or of a literal in it.
type function struct {
	begin, end uint64
	symbol     string // the symbol of the function
	lines      []stretch
}

// stretch is code of one line. line is 0 if the code is of no line of the function.
type stretch struct {
	end  uint32 // from the beginning of the code
	line uint32
}

// Add adds code of the function that has a symbol: its own code, or that of a literal in it. Code that the compiler
// inlined counts as the line that calls it.
func (t *Table) Add(symbol string, code *pclntab.Func) {
	f := function{begin: code.Entry, end: code.End, symbol: symbol}
	for end, frames := range code.Stacks() {
		s := stretch{uint32(end - code.Entry), lineIn(frames, symbol)}
		if n := len(f.lines); n > 0 && f.lines[n-1].line == s.line {
			f.lines[n-1] = s
			continue
		}
		f.lines = append(f.lines, s)
	}
	f.lines = slices.Clip(f.lines)
	if at, found := t.find(f.begin); !found {
		t.functions = slices.Insert(t.functions, at, f)
	}
}

// lineIn returns the innermost line that is of a function, or of a literal in it.
func lineIn(frames []pclntab.Frame, symbol string) uint32 {
	for _, f := range frames {
		if probes.Outer(f.Function) == symbol {
			return uint32(max(0, f.Line))
		}
	}
	return 0
}

// find returns the index of the function that begins at an address or, if none does, of the first one behind it.
func (t *Table) find(begin uint64) (int, bool) {
	return slices.BinarySearchFunc(t.functions, begin, func(f function, at uint64) int { return cmp.Compare(f.begin, at) })
}

// Line returns the line from which the function that has a symbol made the call that is under way. returns are the
// addresses to which the called function and those around it return, as the program was linked, the innermost first.
// A call of several lines is at its last line, where it is made. 0: none of the addresses is in the function.
func (t *Table) Line(returns []uint64, symbol string) uint32 {
	for _, to := range returns {
		if line := t.lineAt(to-1, symbol); line != 0 { // the call is before the address to which it returns
			return line
		}
	}
	return 0
}

// Has reports whether the call before an address is in the code of a function that was added.
func (t *Table) Has(to uint64) bool { return t.code(to-1) != nil }

// code returns the function of an instruction, or nil.
func (t *Table) code(pc uint64) *function {
	at, found := t.find(pc)
	if !found {
		at--
	}
	if at < 0 || pc >= t.functions[at].end {
		return nil
	}
	return &t.functions[at]
}

// lineAt returns the line of an instruction, if it is in the function that has a symbol; otherwise 0.
func (t *Table) lineAt(pc uint64, symbol string) uint32 {
	f := t.code(pc)
	if f == nil || f.symbol != symbol {
		return 0
	}
	i, found := slices.BinarySearchFunc(f.lines, uint32(pc-f.begin), func(s stretch, at uint32) int { return cmp.Compare(s.end, at) })
	if found {
		i++ // the instruction is behind that stretch
	}
	if i == len(f.lines) {
		return 0
	}
	return f.lines[i].line
}
