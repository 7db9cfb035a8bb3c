package alert

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a part of the text that stands by itself: a term of a filter, a parenthesis, a bar, or a word of this package.
type token struct {
	start, end int
	depth      int // how many ( are open around it
	quoted     bool
}

// lex takes a text apart as package filter does.
func lex(text string) (all []token) {
	depth := 0
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		switch {
		case unicode.IsSpace(r):
			at += size
			continue
		case r == '(':
			all = append(all, token{at, at + 1, depth, false})
			depth++
			at++
			continue
		case r == ')':
			depth = max(0, depth-1)
			all = append(all, token{at, at + 1, depth, false})
			at++
			continue
		case r == '|':
			end := at + 1
			if strings.HasPrefix(text[end:], "|") {
				end++
			}
			all = append(all, token{at, end, depth, false})
			at = end
			continue
		}
		t := token{start: at, depth: depth, quoted: r == '"'}
		t.end = termEnd(text, at)
		all = append(all, t)
		at = t.end
	}
	return all
}

// termEnd returns where the term at a place ends: at a space, a parenthesis or a bar, or behind a quoted value.
func termEnd(text string, start int) int {
	at := start
	for at < len(text) {
		r, size := utf8.DecodeRuneInString(text[at:])
		switch {
		case r == '"' && (at == start || strings.IndexByte("=~<>", text[at-1]) >= 0):
			return quoteEnd(text, at)
		case r == '"' && strings.Trim(text[start:at], "-!") == "":
			return quoteEnd(text, at)
		case unicode.IsSpace(r) || strings.ContainsRune(`()|"`, r):
			return at
		}
		at += size
	}
	return at
}

// quoteEnd returns the place behind the quoted text that begins at a place.
func quoteEnd(text string, start int) int {
	for at := start + 1; at < len(text); at++ {
		switch {
		case text[at] == '"':
			return at + 1
		case text[at] == '\\' && at+1 < len(text) && strings.IndexByte(`"\`, text[at+1]) >= 0:
			at++
		}
	}
	return len(text)
}
