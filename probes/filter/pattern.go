package filter

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// pattern is what ~ looks for: a glob over the whole text if it has * or ? in it, else a part of the text. Case
// does not matter.
type pattern struct {
	text string
	glob bool
}

func newPattern(text string) pattern { return pattern{text, strings.ContainsAny(text, "*?")} }

func (p pattern) match(s string) bool {
	if p.glob {
		return glob(p.text, s)
	}
	return contains(s, p.text)
}

func contains(s, part string) bool {
	for i := 0; i+len(part) <= len(s); i++ {
		if strings.EqualFold(s[i:i+len(part)], part) {
			return true
		}
	}
	return false
}

// glob reports whether the pattern matches the whole of s: * is any text, also with slashes and dots, ? any one
// character. It goes back to the last * only, so its time is bounded by the product of the lengths.
func glob(pattern, s string) bool {
	star, mark := -1, 0
	p, i := 0, 0
	for i < len(s) {
		r, size := utf8.DecodeRuneInString(s[i:])
		want, wide := utf8.DecodeRuneInString(pattern[p:])
		switch {
		case p < len(pattern) && want == '*':
			star, mark = p, i
			p += wide
		case p < len(pattern) && (want == '?' || unicode.ToLower(want) == unicode.ToLower(r)):
			p, i = p+wide, i+size
		case star >= 0:
			_, skipped := utf8.DecodeRuneInString(s[mark:])
			mark += skipped
			p, i = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
