package reading

import "testing"

// TestTextOutside: a text that would be outside the record is none.
func TestTextOutside(t *testing.T) {
	for _, v := range []uint64{MaxText<<32 | 1, 1 << 63, 0<<32 | (MaxText + 1), 0xffffffff, 1<<64 - 1} {
		r := Record{Have: [MaxValues]uint8{HaveText}, Value: [MaxValues]uint64{v}}
		if s, ok := r.TextIn(0); ok {
			t.Errorf("%#x is text of %d bytes", v, len(s))
		}
	}
	r := Record{}
	if _, ok := r.TextIn(MaxValues); ok {
		t.Error("there is a text behind all values")
	}
}
