package klog

import (
	"strconv"
	"strings"
	"time"
)

// missing is what klog writes for a value that its caller forgot.
const missing = "(MISSING)"

// maxValues bounds the values of one entry.
const maxValues = 64

func parseText(text string, near time.Time) (e Entry, ok bool) {
	h, ok := ReadHeader(text)
	if !ok {
		return e, false
	}
	e = Entry{Time: h.Time(near), Level: h.Level, Where: h.Where}
	message, rest, structured := unquote(h.Rest)
	if !structured {
		e.Message = h.Rest
		return e, true
	}
	e.Message, e.Structured = message, true
	for rest != "" && len(e.values) < maxValues {
		var v value
		if v, rest = nextValue(rest); v.key != "" {
			e.values = append(e.values, v)
		}
	}
	return e, true
}

// unquote reads a text in quotes, and what comes after it.
func unquote(s string) (text, rest string, ok bool) {
	n := quotedLen(s)
	if n == 0 {
		return "", s, false
	}
	text, err := strconv.Unquote(s[:n])
	return text, s[n:], err == nil
}

// nextValue reads one key=value. A value may be in quotes, have several lines between "=<" and " >", be JSON, or be
// anything else up to the next key.
func nextValue(s string) (v value, rest string) {
	s = strings.TrimLeft(s, " \t\n")
	i := strings.IndexByte(s, '=')
	if i <= 0 || strings.ContainsAny(s[:i], " \n\"") {
		_, rest, _ = strings.Cut(s, " ")
		return value{}, rest
	}
	v.key, s = s[:i], s[i+1:]
	if lines, ok := strings.CutPrefix(s, "<\n"); ok {
		return value{v.key, unindent(lines)}, afterLines(lines)
	}
	if text, rest, ok := unquote(s); ok {
		return value{v.key, strings.TrimPrefix(text, missing)}, rest
	}
	if n := jsonLen(s); n > 0 {
		return value{v.key, s[:n]}, s[n:]
	}
	n := plainLen(s)
	v.text = s[:n]
	return v, s[n:]
}

// endOfLines ends a value of several lines.
const endOfLines = "\n >"

// unindent returns a value of several lines without the tab with which klog begins each.
func unindent(lines string) string {
	text, _, _ := strings.Cut(lines, endOfLines)
	if strings.HasPrefix(lines, " >") {
		return ""
	}
	return strings.ReplaceAll(strings.TrimPrefix(text, "\t"), "\n\t", "\n")
}

func afterLines(lines string) string {
	if rest, ok := strings.CutPrefix(lines, " >"); ok {
		return rest
	}
	_, rest, _ := strings.Cut(lines, endOfLines)
	return rest
}

// jsonLen returns how long the JSON object or list is with which s begins; 0: it begins with none. It looks for the
// end only, since most values are read by nobody.
func jsonLen(s string) int {
	if s == "" || s[0] != '{' && s[0] != '[' {
		return 0
	}
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				if i+1 < len(s) && s[i+1] != ' ' && s[i+1] != '\n' {
					return 0
				}
				return i + 1
			}
		case '"':
			n := quotedLen(s[i:])
			if n == 0 {
				return 0
			}
			i += n - 1
		case '\n':
			return 0
		}
	}
	return 0
}

// plainLen returns how long a value without quotes is. It may have spaces: it ends before the next word that is a key
// with its "=".
func plainLen(s string) int {
	for i := 0; i < len(s); i++ {
		if s[i] == '\n' || s[i] == ' ' && beginsKey(s[i+1:]) {
			return i
		}
	}
	return len(s)
}

// beginsKey reports whether s begins with a key and "=", as klog's callers name keys.
func beginsKey(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c == '=':
			return i > 0
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-', c == '.', c == '/':
		default:
			return false
		}
	}
	return false
}
