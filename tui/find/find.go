// Package find finds a text in the rows of a list: which rows have it, and which
// of them is next. It looks at a bounded number of rows at a time, so that no frame
// waits for a long list.
package find

import (
	"slices"
	"sort"
	"strings"
)

// List is the rows of a pane. Numbers of rows grow with the list; rows before First
// are forgotten.
type List interface {
	// Rows are the numbers of the first row and of the one after the last.
	Rows() (first, end int)
	// Text is a row as text; empty if it is none that can be gone to.
	Text(row int) string
	// At is the selected row, Go selects one.
	At() int
	Go(row int)
	// Version changes when rows that were there may be others now. A list that only
	// grows keeps the same.
	Version() uint64
}

// PerFrame bounds how many rows one frame looks at, PerKey how many more a key does:
// no more than can be read while a person notices nothing.
const (
	PerFrame = 4_000
	PerKey   = 20_000
)

// Find is a text that is looked for. Its zero value looks for nothing.
type Find struct {
	text    string // in lower case
	typed   string
	version uint64
	of      any // which list: what was found in another counts no more
	// found are the rows with the text, of those from from to to.
	found    []int
	from, to int
	began    bool
}

// Set changes what is looked for. White space at the ends of it is not.
func (f *Find) Set(text string) {
	typed := strings.TrimSpace(text)
	*f = Find{text: strings.ToLower(typed), typed: typed}
}

// Text is what is looked for, as it was typed; empty: nothing.
func (f *Find) Text() string { return f.typed }

// Look looks at some more rows of a list, which the caller names.
func (f *Find) Look(name any, l List, rows int) {
	if f.text == "" {
		return
	}
	first, end := l.Rows()
	if !f.began || f.of != name || f.version != l.Version() || end < f.to {
		at := max(first, min(l.At(), end))
		f.began, f.of, f.version, f.found, f.from, f.to = true, name, l.Version(), nil, at, at
	}
	if first > f.from { // what is before is forgotten
		f.found = f.found[sort.SearchInts(f.found, first):]
		f.from, f.to = first, max(first, f.to)
	}
	for ; f.to < end && rows > 0; rows-- {
		if f.has(l, f.to) {
			f.found = append(f.found, f.to)
		}
		f.to++
	}
	var before []int
	for ; f.from > first && rows > 0; rows-- {
		f.from--
		if f.has(l, f.from) {
			before = append(before, f.from)
		}
	}
	if len(before) > 0 {
		slices.Reverse(before)
		f.found = append(before, f.found...)
	}
}

func (f *Find) has(l List, row int) bool {
	return strings.Contains(strings.ToLower(l.Text(row)), f.text)
}

// Count is how many rows have the text, and the place of the selected one among
// them, from 1; 0: it has not. More: not all rows were looked at.
func (f *Find) Count(l List) (k, n int, more bool) {
	first, end := l.Rows()
	if i, is := slices.BinarySearch(f.found, l.At()); is {
		k = i + 1
	}
	return k, len(f.found), f.text != "" && (f.from > first || f.to < end)
}

// Next selects the next row with the text, or the one before if dir is negative,
// and round. It returns false if no row has it.
func (f *Find) Next(name any, l List, dir int) bool {
	f.Look(name, l, PerKey)
	if len(f.found) == 0 {
		return false
	}
	i, is := slices.BinarySearch(f.found, l.At())
	switch {
	case dir < 0:
		i--
	case is:
		i++
	}
	l.Go(f.found[(i+len(f.found))%len(f.found)])
	return true
}

// Here selects the first row with the text from a row on, which may be that row
// itself: what happens while the text is typed.
func (f *Find) Here(name any, l List, from int) {
	f.Look(name, l, PerKey)
	if len(f.found) == 0 {
		return
	}
	i := sort.SearchInts(f.found, from)
	l.Go(f.found[i%len(f.found)])
}
