package pclntab

import "iter"

// Line is a stretch of a function's code that came from one line of the source.
type Line struct {
	// Begin is its first address. End is the address behind it.
	Begin, End uint64
	File       string
	Number     int
	// Inlined: the line is of another function, which the compiler has put into this one.
	Inlined bool
}

// Lines yields the stretches of a function, by address. A line may have several.
func (f *Func) Lines() iter.Seq[Line] {
	return func(yield func(Line) bool) {
		begin := f.Entry
		f.values(f.tableAt(lineAt), func(end uint64, number int32) bool {
			end = min(end, f.End)
			l := Line{begin, end, f.FileAt(begin), int(number), f.inlined(begin)}
			begin = end
			return l.Begin >= l.End || yield(l)
		})
	}
}

func (f *Func) inlined(pc uint64) bool {
	const at = recordSize + 4*inlineTree
	if len(f.record) < at+4 {
		return false
	}
	v, ok := f.value(f.tableAt(at), pc)
	return ok && v >= 0
}

// Files yields the files whose code is in a function: its own, and those of inlined functions. One may come several
// times.
func (f *Func) Files() iter.Seq[string] {
	return func(yield func(string) bool) {
		f.values(f.tableAt(fileAt), func(_ uint64, n int32) bool { return yield(f.file(n)) })
	}
}
