package redact

import (
	"fmt"
	"runtime"
	"strings"
)

// Redacted stands where a secret was taken out.
const Redacted = "<redacted>"

const (
	// maxText bounds the text in which secrets are looked for, in bytes; the rest is left out. It is some times what
	// is shown of a text, and small enough for texts in which each byte has to be looked at often.
	maxText = 4 << 10
	// maxBack bounds the look back from a mark.
	maxBack = 512
)

// cut is a part of a text that is replaced.
type cut struct {
	from, to int
	by       string
}

// marks are the bytes at which a secret may be recognised. All others are passed over, so that a clean text costs
// little.
var marks = func() (m [256]bool) {
	for _, c := range []byte(`=:@?& -_JKSz('"[`) {
		m[c] = true
	}
	return m
}()

// cutAt looks for a secret at a mark. It is a switch, since a table of functions would make each scrubbing escape to
// the heap.
func (t *scrubbing) cutAt(i int) (cut, bool) {
	switch t.s[i] {
	case ' ':
		return t.afterScheme(i)
	case '-':
		return t.atDash(i)
	case ':':
		return t.afterColon(i)
	case '=':
		return t.afterKey(i)
	case '"', '\'', '[':
		return t.inCommand(i)
	case '(':
		return t.inHook(i)
	case '_':
		return t.afterPrefix(i)
	case '@':
		return t.beforeAt(i)
	case '?', '&':
		return t.inQuery(i)
	case 'J':
		return t.inWebToken(i)
	case 'K', 'S':
		return t.inAccessKey(i)
	case 'z':
		return t.inAPIKey(i)
	}
	return cut{}, false
}

// scrubbing is one pass over a text.
type scrubbing struct {
	s     string
	done  int  // the text before needs no further look
	whole bool // s is all of the text
}

// Text takes secrets and the output of containers out of a text. It looks at each byte once, and returns a clean text
// as it is, without allocating.
func Text(s string) string {
	for i := 0; i < len(s); i++ {
		if marks[s[i]] {
			return textFrom(s, i)
		}
	}
	return s
}

// Begin is Text for the beginning of a text whose rest is not known. The last word may be half a secret, which would not
// be recognised, so it is left out. Three dots stand for all that is missing.
func Begin(s string) string {
	t := scrubbing{s: wholeWords(s, min(len(s), maxText))}
	return t.scrub(0) + "…"
}

// textFrom is Text for a text that has no mark before i.
func textFrom(s string, i int) string {
	t := scrubbing{s: s, whole: true}
	if len(s) > maxText {
		t.s, t.whole = wholeWords(s, maxText), false
	}
	return t.scrub(i)
}

// scrub returns the text without secrets. There is no mark before i.
func (t *scrubbing) scrub(i int) string {
	var out []byte
	copied := 0
	for s := t.s; i < len(s); {
		if !marks[s[i]] {
			i++
			continue
		}
		c, ok := t.cutAt(i)
		if !ok || c.from < t.done {
			i++
			continue
		}
		if out == nil {
			out = make([]byte, 0, len(t.s)+len(Redacted))
		}
		out = append(append(out, t.s[copied:c.from]...), c.by...)
		copied, t.done = c.to, c.to
		i = max(i+1, c.to)
	}
	if out == nil {
		return t.s
	}
	return string(append(out, t.s[copied:]...))
}

// wholeWords returns the beginning of a text, up to the end of a word: a secret cut in half would not be recognised.
func wholeWords(s string, n int) string {
	if i := strings.LastIndexAny(s[:n], " \t\r\n"); i >= 0 {
		return s[:i]
	}
	return Redacted
}

// cutBetween returns the cut between two places. Nothing is cut twice.
func (t *scrubbing) cutBetween(from, to int) (cut, bool) {
	if from >= to || from < t.done {
		return cut{}, false
	}
	if rest, was := strings.CutPrefix(t.s[from:to], Redacted); was && (rest == "" || !isAlnum(rest[0])) {
		return cut{}, false // the text was redacted before
	}
	return cut{from, to, Redacted}, true
}

// wordEnd returns where the word ends that begins at i or before.
func (t *scrubbing) wordEnd(i int) int {
	for i < len(t.s) && !isSpace(t.s[i]) && t.s[i] != '"' && t.s[i] != '\'' && t.s[i] != '`' {
		i++
	}
	return i
}

// tokenEnd returns where a run of characters of which tokens are made ends.
func (t *scrubbing) tokenEnd(i int) int {
	for i < len(t.s) && (isAlnum(t.s[i]) || strings.IndexByte("-_.+/=~", t.s[i]) >= 0) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
func isLetter(c byte) bool {
	return 'a' <= c|0x20 && c|0x20 <= 'z'
}
func isAlnum(c byte) bool { return isLetter(c) || isDigit(c) }

// startsWord reports whether a word of a command or a text may begin at i.
func (t *scrubbing) startsWord(i int) bool {
	if i == 0 {
		return true
	}
	switch t.s[i-1] {
	case ' ', '\t', '\n', '\r', '"', '\'', '`', '[', '(', ',', '=':
		return true
	}
	return false
}

// Panic describes a panic without its value, which may be anything, unless it is an
// error of Go's runtime, such as an index that is out of range.
func Panic(value any) string {
	if err, ok := value.(runtime.Error); ok {
		return Text(err.Error())
	}
	return fmt.Sprintf("a panic of type %T", value)
}
