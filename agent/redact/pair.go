package redact

import "strings"

// Values that stand behind a name, and words that stand behind an option.

// afterKey takes the value behind the name of a secret: password=x, "token": "x", Authorization: Bearer x.
func (t *scrubbing) afterKey(i int) (cut, bool) {
	k, ok := t.keyBefore(i)
	if !ok {
		return cut{}, false
	}
	return t.value(k, i)
}

func (t *scrubbing) afterColon(i int) (cut, bool) {
	if strings.HasPrefix(t.s[i:], "://") {
		return t.inAddress(i)
	}
	if c, ok := t.inExec(i); ok {
		return c, true
	}
	return t.afterKey(i)
}

// key is a name before a separator.
type key struct {
	kind   keyKind
	ofPath bool // the name is the last part of a path, such as an image's
	quoted bool
	spaced bool // there is a space between the name and the separator
}

// keyBefore reads the name before the separator at i.
func (t *scrubbing) keyBefore(i int) (key, bool) {
	k := key{}
	end := i
	for end > t.done && t.s[end-1] == ' ' {
		end--
		k.spaced = true
	}
	for end > t.done && strings.IndexByte("\"'\\", t.s[end-1]) >= 0 {
		end--
		k.quoted = true
	}
	start := end
	for start > t.done && isKey(t.s[start-1]) {
		start--
	}
	k.ofPath = start > 0 && t.s[start-1] == '/'
	k.kind = kindOfKey(t.s[start:end])
	return k, k.kind != plainKey
}

func isKey(c byte) bool { return isAlnum(c) || c == '_' || c == '-' || c == '.' }

// value takes the value behind the separator at i.
func (t *scrubbing) value(k key, i int) (cut, bool) {
	from := i + 1
	for from < len(t.s) && isSpace(t.s[from]) {
		from++
	}
	from, quote, escapes := t.opening(from)
	from = t.afterSchemes(from)
	if quote == 0 && (k.quoted && k.spaced || t.isProse(k, i, from)) {
		return cut{}, false
	}
	if k.ofPath && from > i+1 && quote == 0 && isFailure(t.s[from:]) {
		return cut{}, false // open "/etc/passwd": permission denied
	}
	if from >= len(t.s) || t.s[from] == '{' || strings.HasPrefix(t.s[from:], "map[") {
		return cut{}, false // the value has names of its own, each of which is looked at
	}
	switch {
	case quote != 0:
		return t.cutBetween(from, t.closing(from, quote, escapes))
	case t.s[from] == '[':
		return t.cutBetween(from, t.bracketEnd(from))
	}
	end := t.bareEnd(from)
	if isNothing(t.s[from:end]) {
		return cut{}, false
	}
	return t.cutBetween(from, end)
}

// afterSchemes passes over words such as the Basic of Authorization: Basic x.
func (t *scrubbing) afterSchemes(from int) int {
	for {
		end := t.tokenEnd(from)
		if end == len(t.s) || t.s[end] != ' ' || !isScheme(t.s[from:end]) {
			return from
		}
		from = end + 1
	}
}

func isScheme(w string) bool {
	for _, scheme := range [...]string{"bearer", "basic", "token", "apikey", "digest", "negotiate"} {
		if len(w) == len(scheme) && hasFold(w, scheme) {
			return true
		}
	}
	return false
}

// opening passes over the quote at from, which may be escaped.
func (t *scrubbing) opening(from int) (value int, quote byte, escapes int) {
	i := from
	for i < len(t.s) && t.s[i] == '\\' {
		i++
	}
	if i < len(t.s) && strings.IndexByte("\"'`", t.s[i]) >= 0 {
		return i + 1, t.s[i], i - from
	}
	return from, 0, 0
}

// closing finds the quote that ends a value: the first that is escaped no more than the opening one.
func (t *scrubbing) closing(from int, quote byte, escapes int) int {
	for i := from; i < len(t.s); i++ {
		if t.s[i] != quote {
			continue
		}
		n := 0
		for i-n > from && t.s[i-n-1] == '\\' {
			n++
		}
		if n <= escapes && (escapes > 0 || n == 0) {
			return i - n
		}
	}
	return len(t.s)
}

// bareEnd returns where a value without quotes ends.
func (t *scrubbing) bareEnd(i int) int {
	for i < len(t.s) && !isSpace(t.s[i]) && t.s[i] != '"' && t.s[i] != '\'' {
		i++
	}
	return i
}

func (t *scrubbing) bracketEnd(i int) int {
	if n := strings.IndexByte(t.s[i:], ']'); n >= 0 {
		return i + n + 1
	}
	return len(t.s)
}

// isNothing reports whether a value is no secret under any name.
func isNothing(v string) bool {
	switch strings.TrimRight(v, ",;)}]") {
	case "", "nil", "<nil>", "null", "true", "false":
		return true
	}
	return false
}

// isProse reports whether a colon ends a phrase, such as "failed to fetch token: unexpected status", or stands before
// an image's tag, and does not follow a name. A password is taken in any case.
func (t *scrubbing) isProse(k key, i, from int) bool {
	if t.s[i] != ':' {
		return false
	}
	w := t.s[from:t.bareEnd(from)]
	if from == i+1 {
		return isTag(w) || k.kind == looseKey && (k.ofPath || isWord(w))
	}
	return k.kind == looseKey && (k.ofPath || isWord(w))
}

// failures are the beginnings of errors that follow the path of a file.
var failures = [...]string{
	"permission denied", "operation not permitted", "no such file", "file exists", "file already", "file name too long", "is a directory",
	"not a directory", "directory not empty", "input/output error", "i/o timeout", "device or resource busy", "resource temporarily",
	"read-only file system", "no space left", "disk quota exceeded", "too many", "invalid argument", "bad file descriptor", "exec format error",
	"text file busy", "stale", "structure needs cleaning", "transport endpoint", "invalid cross-device link", "connection refused",
	"connection reset", "broken pipe", "executable file not found", "unexpected EOF", "EOF", "context deadline exceeded", "context canceled",
}

// isFailure reports whether a text is that of an error. No secret is.
func isFailure(s string) bool {
	for _, f := range failures {
		if rest, ok := strings.CutPrefix(s, f); ok && (rest == "" || !isAlnum(rest[0])) {
			return true
		}
	}
	return false
}

// isTag reports whether a word is an image's tag with a version, such as v1.2.3-rc1.
func isTag(w string) bool {
	w, _, _ = strings.Cut(strings.TrimRight(w, ":,.;)]}"), "@")
	w = strings.TrimPrefix(w, "v")
	digits, rest := 0, w
	for len(rest) > 0 && (isDigit(rest[0]) || rest[0] == '.') {
		rest = rest[1:]
		digits++
	}
	return digits >= 3 && digits <= 12 && strings.IndexByte(w[:digits], '.') > 0 && len(rest) <= 12 && (rest == "" || rest[0] == '-')
}

// isWord reports whether w is a word of a language, and not made by a machine.
func isWord(w string) bool {
	w = strings.TrimRight(w, ":,.;)")
	if len(w) == 0 || len(w) > 16 {
		return false
	}
	if len(w) == 3 && isDigit(w[0]) && isDigit(w[1]) && isDigit(w[2]) {
		return true // a status
	}
	for i := range len(w) {
		if !isLetter(w[i]) || i > 0 && w[i] < 'a' {
			return false
		}
	}
	return true
}

// afterScheme takes the word behind "Bearer" or "Basic".
func (t *scrubbing) afterScheme(i int) (cut, bool) {
	if i < t.done+5 {
		return cut{}, false
	}
	if c := t.s[i-1] | 0x20; c != 'c' && c != 'r' {
		return cut{}, false
	}
	start := max(i-6, t.done)
	word := t.s[start:i]
	basic := len(word) >= 5 && strings.EqualFold(word[len(word)-5:], "basic")
	if !basic && !strings.EqualFold(word, "bearer") {
		return cut{}, false
	}
	end := t.tokenEnd(i + 1)
	w := t.s[i+1 : end]
	if len(w) < 4 || isWord(w) || end < len(t.s) && w[len(w)-1] == '=' && t.s[end] == '"' {
		return cut{}, false // a word of a sentence, or a challenge such as realm="x"
	}
	return t.cutBetween(i+1, end)
}

// keyKind is how likely a value is a secret, by its name.
type keyKind uint8

const (
	plainKey keyKind = iota
	looseKey         // a secret, unless a word of prose follows: token, secret
	firmKey          // a secret
)

// maxKey bounds how much of a name is looked at: its end counts.
const maxKey = 64

// kindOfKey returns how likely a value is a secret, by its name.
func kindOfKey(name string) keyKind {
	if len(name) < 3 {
		return plainKey
	}
	name = name[max(0, len(name)-maxKey):]
	kind := plainKey
	for i := range len(name) {
		words := secretWords[name[i]|0x20]
		for _, w := range words {
			if hasFold(name[i:], w.text) && (!w.whole || wholeIn(name, i, len(w.text))) {
				kind = max(kind, w.kind)
			}
		}
	}
	if kind == plainKey || isReference(name) {
		return plainKey
	}
	return kind
}

// secretWord is part of the names of secrets.
type secretWord struct {
	text  string
	kind  keyKind
	whole bool // it counts only as a whole word of the name, or as the name
}

// secretWords has the words by their first letter.
var secretWords = func() (by [256][]secretWord) {
	for _, w := range []secretWord{
		{"passw", firmKey, false}, {"passphrase", firmKey, false}, {"pwd", looseKey, true}, {"pass", looseKey, true},
		{"token", looseKey, false}, {"secret", looseKey, false}, {"credential", looseKey, false},
		{"apikey", firmKey, false}, {"api_key", firmKey, false}, {"api-key", firmKey, false}, {"accesskey", firmKey, false},
		{"access_key", firmKey, false}, {"access-key", firmKey, false}, {"private_key", firmKey, false}, {"privatekey", firmKey, false},
		{"private-key", firmKey, false}, {"encryption", looseKey, false}, {"authorization", looseKey, false}, {"auth", looseKey, true},
		{"signature", looseKey, false}, {"sig", firmKey, true}, {"cookie", firmKey, false}, {"dsn", firmKey, true}, {"bearer", looseKey, true},
		{"session", looseKey, true}, {"sessionid", firmKey, false}, {"pin", looseKey, true}, {"otp", firmKey, true}, {"jwt", firmKey, true},
		{"_key", firmKey, true}, {"connection_string", firmKey, false}, {"connectionstring", firmKey, false}, {"dockercfg", firmKey, false},
		{"dockerconfig", firmKey, false},
	} {
		by[w.text[0]|0x20] = append(by[w.text[0]|0x20], w)
	}
	return by
}()

// hasFold reports whether s begins with a text in lower case, whatever its case.
func hasFold(s, lower string) bool {
	if len(s) < len(lower) {
		return false
	}
	for i := range len(lower) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != lower[i] {
			return false
		}
	}
	return true
}

// wholeIn reports whether a word stands alone in a name.
func wholeIn(name string, i, n int) bool {
	return (i == 0 || !isLetter(name[i-1]) || name[i] == '_' || isUpper(name[i]) && !isUpper(name[i-1])) &&
		(i+n == len(name) || !isLetter(name[i+n]) || isUpper(name[i+n]) && !isUpper(name[i+n-1]))
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }

// isReference reports whether the value of a name only states where a secret is, or a fact about it.
func isReference(name string) bool {
	for _, end := range [...]string{"name", "names", "ref", "refs", "namespace", "seconds", "file", "path", "dir", "type", "kind", "url", "uri", "provider", "secrets", "timestamp"} {
		if len(name) > len(end) && hasFold(name[len(name)-len(end):], end) {
			return true
		}
	}
	return false
}
