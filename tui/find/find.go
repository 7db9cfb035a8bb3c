// Package find finds a text in the rows of a list: which rows have it, and which of these is next. It looks at a
// bounded number of rows at a time, so that no frame waits for a long list.
package find

import (
	"slices"
	"sort"
	"strings"
)

// List is the rows of a pane. Rows have numbers, which grow with the list. Rows before the first one are forgotten.
type List interface {
	// Rows returns the number of the first row and the number after the last.
	Rows() (first, end int)
	// Text returns a row as text; empty if it is a row that cannot be selected.
	Text(row int) string
	// At returns the selected row. Go selects a row.
	At() int
	Go(row int)
	// Version changes when earlier rows may have changed. It stays the same while the list only grows.
	Version() uint64
}

// PerFrame bounds how many rows one frame looks at, and PerKey how many more a key does. A person does not notice
// the time that these take.
const (
	PerFrame = 4_000
	PerKey   = 20_000
)

// Find is a text that is looked for. Its zero value looks for nothing.
type Find struct {
	text    string // in lower case
	typed   string
	version uint64
	of      any // which list found is about
	// found are the rows with the text among the rows from from to to.
	found    []int
	from, to int
	began    bool
}

// Set changes the text that is looked for. White space at its ends does not count.
func (f *Find) Set(text string) {
	typed := strings.TrimSpace(text)
	*f = Find{text: strings.ToLower(typed), typed: typed}
}

// Text returns the text that is looked for, as it was typed; empty if there is none.
func (f *Find) Text() string { return f.typed }

// Look looks at some more rows of the list that the caller names.
func (f *Find) Look(name any, l List, rows int) {
	if f.text == "" {
		return
	}
	first, end := l.Rows()
	if !f.began || f.of != name || f.version != l.Version() || end < f.to {
		at := max(first, min(l.At(), end))
		f.began, f.of, f.version, f.found, f.from, f.to = true, name, l.Version(), nil, at, at
	}
	if first > f.from { // the rows before are forgotten
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

// Count returns the place k of the selected row among the rows with the text, from 1, or 0 if it does not have the text;
// the number n of these rows; and whether there are more rows that were not looked at.
func (f *Find) Count(l List) (k, n int, more bool) {
	first, end := l.Rows()
	if i, is := slices.BinarySearch(f.found, l.At()); is {
		k = i + 1
	}
	return k, len(f.found), f.text != "" && (f.from > first || f.to < end)
}

// Next selects the next row with the text, or the previous one if dir is negative, and round. It returns false if no row
// has the text.
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

// Here selects the first row with the text from a row on, that row included. It serves a search while its text is typed.
func (f *Find) Here(name any, l List, from int) {
	f.Look(name, l, PerKey)
	if len(f.found) == 0 {
		return
	}
	i := sort.SearchInts(f.found, from)
	l.Go(f.found[i%len(f.found)])
}
