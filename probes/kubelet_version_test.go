package probes

import (
	"strings"
	"testing"
)

// TestOnlyVersion: the linker's string is found whatever is before it, and nothing is guessed where there are two.
func TestOnlyVersion(t *testing.T) {
	// An underscore stands for a NUL: as it is, this program would have the linker's string too.
	for _, x := range []struct{ data, between, before string }{
		{"_v1.36.3_", "v1.36.3", "v1.36.3"},
		{"__n@v1.36.3__", "", "v1.36.3"},
		{"n@v1.36.3+k3s1_", "", "v1.36.3+k3s1"},
		{"kubernetes@v1.36.3/pkg", "", ""},
		{"_v1.36.3_n@v1.35.0_", "v1.36.3", ""},
		{"n@v1.0.0_n@v1.36.3_", "", "v1.36.3"},
		{"", "", ""},
	} {
		data := []byte(strings.ReplaceAll(x.data, "_", "\x00"))
		if got := onlyVersion(data, betweenNULs); got != x.between {
			t.Errorf("between NULs of %q is %q, want %q", x.data, got, x.between)
		}
		if got := onlyVersion(data, beforeNUL); got != x.before {
			t.Errorf("before a NUL of %q is %q, want %q", x.data, got, x.before)
		}
	}
}
