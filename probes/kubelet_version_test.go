package probes

import "testing"

// TestOnlyVersion: the linker's string is found whatever is before it, and nothing is guessed where there are two.
func TestOnlyVersion(t *testing.T) {
	for _, x := range []struct{ data, between, before string }{
		{"\x00v1.36.3\x00", "v1.36.3", "v1.36.3"},
		{"\x00\x00n@v1.36.3\x00\x00", "", "v1.36.3"},
		{"n@v1.36.3+k3s1\x00", "", "v1.36.3+k3s1"},
		{"kubernetes@v1.36.3/pkg", "", ""},
		{"\x00v1.36.3\x00n@v1.35.0\x00", "v1.36.3", ""},
		{"", "", ""},
	} {
		if got := onlyVersion([]byte(x.data), betweenNULs); got != x.between {
			t.Errorf("between NULs of %q is %q, want %q", x.data, got, x.between)
		}
		if got := onlyVersion([]byte(x.data), beforeNUL); got != x.before {
			t.Errorf("before a NUL of %q is %q, want %q", x.data, got, x.before)
		}
	}
}
