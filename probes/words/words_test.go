package words

import (
	"testing"
	"time"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain":           "plain",
		"中文":              "中文",
		"a\x1b[2Jb":       `a\x1b[2Jb`,
		"\u202eevil":      `\u202eevil`,
		"two\nlines":      "two lines",
		"zero\u200bwidth": `zero\u200bwidth`,
		"bad\xffbyte":     `bad\xffbyte`,
		"c1\u0085":        `c1\u0085`,
	} {
		if got := OneLine(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func TestTook(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-1: "0.0 ms", 200 * time.Microsecond: "0.2 ms", 402 * time.Millisecond: "402 ms", 1840 * time.Millisecond: "1.8 s",
		42 * time.Second: "42 s", 192 * time.Second: "3:12", 2*time.Hour + 3*time.Minute + 4*time.Second: "2:03:04",
	} {
		if got := Took(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}
