package tracing

import "testing"

func TestSizeText(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 999: "999 B", 1000: "1 kB", 21369: "21.4 kB", 5e6: "5 MB", 3e12: "3e+03 GB"} {
		if got := sizeText(n); got != want {
			t.Errorf("%d bytes are %s, want %s", n, got, want)
		}
	}
}
