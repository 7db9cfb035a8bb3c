package trace

import (
	"bytes"
	"errors"
	"testing"
)

// TestFooter: a trace with a footer is read as any other, and its footer without the trace.
func TestFooter(t *testing.T) {
	for _, footer := range []string{"", "{}", string(bytes.Repeat([]byte("pod"), 1<<16))} {
		var out bytes.Buffer
		w, err := NewWriter(&out, header)
		if err != nil {
			t.Fatal(err)
		}
		b := newSample().batch(20)
		if err := w.Add(b); err != nil {
			t.Fatal(err)
		}
		if err := w.CloseWith([]byte(footer)); err != nil {
			t.Fatal(err)
		}
		got, err := read(out.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, b)
		if text, err := ReadFooter(bytes.NewReader(out.Bytes()), int64(out.Len())); err != nil || string(text) != footer {
			t.Errorf("the footer has %d bytes of %d, %v", len(text), len(footer), err)
		}
		for cut := 1; cut < 40; cut++ {
			if _, err := ReadFooter(bytes.NewReader(out.Bytes()), int64(out.Len()-cut)); !errors.Is(err, ErrNoFooter) {
				t.Fatalf("without its last %d bytes: %v", cut, err)
			}
		}
	}
	raw := written(t, newSample().batch(10))
	if _, err := ReadFooter(bytes.NewReader(raw), int64(len(raw))); !errors.Is(err, ErrNoFooter) {
		t.Error(err)
	}
}
