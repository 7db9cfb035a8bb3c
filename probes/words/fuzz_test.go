package words

import "testing"

func FuzzClean(f *testing.F) {
	for _, s := range []string{"", "plain", "a\x1b[2Jb", "\u202e", "\xff\xfe", "\u0085", "x\n", "\ufffd", "日本語\u200b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		for _, r := range Clean(in) {
			if Unsafe(r) {
				t.Fatalf("%q becomes %q", in, Clean(in))
			}
		}
	})
}
