package words

import "testing"

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
