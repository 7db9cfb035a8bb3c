// Package words makes texts that people read: foreign text made safe for a
// terminal, values in a line, durations, in the reader's language.
package words

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/podstep/podstep/probes"
)

// maxText bounds one text on a screen. A longer one is meant to do harm, or has no place in a terminal.
const maxText = 16 << 10

// Clean makes foreign text safe to show. It escapes control characters, and those that change the direction of
// writing or cannot be seen. All text of pods, runtimes and files passes through here, once.
func Clean(s string) string {
	if len(s) > maxText {
		s = strings.ToValidUTF8(s[:maxText], "") + "…"
	}
	for i, r := range s {
		if Unsafe(r) || r == utf8.RuneError {
			return escape(s, i)
		}
	}
	return s
}

func escape(s string, from int) string {
	var b strings.Builder
	b.WriteString(s[:from])
	for i := from; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n <= 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case Unsafe(r):
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		default:
			b.WriteRune(r)
		}
		i += max(n, 1)
	}
	return b.String()
}

// Unsafe reports whether a terminal would act on a character, or nobody would see it.
func Unsafe(r rune) bool {
	if r < 0x7f {
		return r < ' '
	}
	return r == 0x7f || unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co)
}

// OneLine is Clean for a text that may have several lines. It puts them into one.
func OneLine(s string) string {
	if strings.ContainsAny(s, "\n\t\r") {
		s = strings.Join(strings.Fields(s), " ")
	}
	return Clean(s)
}

// Cut shortens a text to n runes.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i, r := 0, 0; i < len(s); r++ {
		if r == n-1 {
			return s[:i] + "…"
		}
		_, w := utf8.DecodeRuneInString(s[i:])
		i += w
	}
	return s
}

// Text is one of our own sentences, in both languages.
func Text(en, zh string) probes.Text { return probes.Text{En: en, Zh: zh} }

// Inf returns a sentence with values in it. Both languages take the same values in the same order.
func (l Lang) Inf(t probes.Text, values ...any) string {
	return fmt.Sprintf(l.In(t), values...)
}

// Sentences joins sentences, and leaves out empty ones. Chinese has no blank between them.
func (l Lang) Sentences(parts ...string) string {
	between := " "
	if l == Chinese {
		between = ""
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), between)
}

// Same is a text that is the same in both languages, such as a path.
func Same(s string) probes.Text { return probes.Text{En: s, Zh: s} }

// With puts values into a sentence, in both languages. A value that is a Text goes in as it is in each.
func With(t probes.Text, values ...any) probes.Text {
	in := func(l Lang) string {
		own := slices.Clone(values)
		for i, v := range own {
			if text, is := v.(probes.Text); is {
				own[i] = l.In(text)
			}
		}
		return l.Inf(t, own...)
	}
	if len(values) == 0 {
		return t
	}
	return probes.Text{En: in(English), Zh: in(Chinese)}
}

// Joined joins texts, with another text between each two.
func Joined(between probes.Text, parts ...probes.Text) (out probes.Text) {
	for i, p := range parts {
		if i > 0 {
			out.En, out.Zh = out.En+between.En, out.Zh+between.Zh
		}
		out.En, out.Zh = out.En+p.En, out.Zh+p.Zh
	}
	return out
}
