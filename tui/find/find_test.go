package find

import (
	"fmt"
	"testing"
)

// rows is a list that counts how often its rows were read.
type rows struct {
	first   int
	texts   []string
	at      int
	version uint64
	read    int
}

func (r *rows) Rows() (int, int)    { return r.first, r.first + len(r.texts) }
func (r *rows) Text(i int) string   { r.read++; return r.texts[i-r.first] }
func (r *rows) At() int             { return r.at }
func (r *rows) Go(i int)            { r.at = i }
func (r *rows) Version() uint64     { return r.version }
func (r *rows) add(texts ...string) { r.texts = append(r.texts, texts...) }

func (r *rows) forget(n int) { r.first, r.texts = r.first+n, r.texts[n:] }

func count(f *Find, l List) string {
	k, n, more := f.Count(l)
	return fmt.Sprint(k, n, more)
}

func TestNextGoesRound(t *testing.T) {
	l := &rows{texts: []string{"RunPodSandbox", "pull", "sandbox", "start", "the Sandbox"}, at: 1}
	var f Find
	f.Set(" sandBOX ")
	for _, want := range []int{2, 4, 0, 2} {
		if !f.Next(1, l, 1) || l.at != want {
			t.Fatalf("the next is %d, want %d", l.at, want)
		}
	}
	for _, want := range []int{0, 4} {
		if !f.Next(1, l, -1) || l.at != want {
			t.Fatalf("the one before is %d, want %d", l.at, want)
		}
	}
	if got := count(&f, l); got != "3 3 false" {
		t.Errorf("k, n, more: %s", got)
	}
	l.at = 3
	if got := count(&f, l); got != "0 3 false" {
		t.Errorf("beside them: %s", got)
	}
	f.Here(1, l, 3)
	if l.at != 4 {
		t.Errorf("from 3 on it is %d", l.at)
	}
	f.Set("nowhere")
	if f.Next(1, l, 1) || l.at != 4 {
		t.Errorf("found at %d what is nowhere", l.at)
	}
}

// TestGrows: rows that were looked at are not read again, unless they may have changed. Forgotten rows are not
// counted.
func TestGrows(t *testing.T) {
	l := &rows{}
	for i := range 10 {
		l.add(fmt.Sprintf("row %d", i%2))
	}
	l.at = 9
	var f Find
	f.Set("row 1")
	f.Look("list", l, 4)
	if got := count(&f, l); got != "2 2 true" || l.read != 4 {
		t.Fatalf("after 4 of 10: %s, %d read", got, l.read)
	}
	f.Look("list", l, 100)
	if got := count(&f, l); got != "5 5 false" || l.read != 10 {
		t.Fatalf("after all: %s, %d read", got, l.read)
	}
	l.add("row 1", "row 0")
	f.Look("list", l, 100)
	if got := count(&f, l); got != "5 6 false" || l.read != 12 {
		t.Fatalf("two more: %s, %d read", got, l.read)
	}
	l.forget(4)
	f.Look("list", l, 100)
	if got := count(&f, l); got != "3 4 false" || l.read != 12 {
		t.Fatalf("four forgotten: %s, %d read", got, l.read)
	}
	l.version++
	f.Look("list", l, 100)
	if got := count(&f, l); got != "3 4 false" || l.read != 20 {
		t.Fatalf("another version: %s, %d read", got, l.read)
	}
	f.Look("another", l, 100)
	if l.read != 28 {
		t.Errorf("another list is not the one before: %d read", l.read)
	}
}
