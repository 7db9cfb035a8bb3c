package redact

import "strings"

// Secrets that are recognised by their own form.

// tokenPrefix is the beginning of a service's tokens. least is how many more characters such a token has at least.
type tokenPrefix struct {
	text  string
	least int
}

// tokenPrefixes has the prefixes by their last character but one.
var tokenPrefixes = func() (by [256][]tokenPrefix) {
	for _, p := range []tokenPrefix{
		{"ghp_", 16}, {"gho_", 16}, {"ghu_", 16}, {"ghs_", 16}, {"ghr_", 16}, {"github_pat_", 16}, {"sk_live_", 12}, {"sk_test_", 12},
		{"rk_live_", 12}, {"npm_", 20}, {"dckr_pat_", 12}, {"glpat-", 16}, {"xoxb-", 12}, {"xoxp-", 12}, {"xoxa-", 12}, {"sk-", 32},
	} {
		c := p.text[len(p.text)-2]
		by[c] = append(by[c], p)
	}
	return by
}()

// afterPrefix takes a token with one of the tokenPrefixes, whose last character is at i.
func (t *scrubbing) afterPrefix(i int) (cut, bool) {
	if i == t.done {
		return cut{}, false
	}
	for _, p := range tokenPrefixes[t.s[i-1]] {
		from := i + 1 - len(p.text)
		if from < t.done || t.s[from:i+1] != p.text || from > 0 && isAlnum(t.s[from-1]) {
			continue
		}
		if end := t.tokenEnd(i + 1); end-i-1 >= p.least {
			return t.cutBetween(from, end)
		}
	}
	return cut{}, false
}

// inWebToken takes a JSON web token, or anything else that is JSON in base64: it
// begins with eyJ, which is {".
func (t *scrubbing) inWebToken(i int) (cut, bool) {
	if i < t.done+2 || t.s[i-2:i+1] != "eyJ" {
		return cut{}, false
	}
	if end := t.tokenEnd(i); end-i >= 8 {
		return t.cutBetween(i-2, end)
	}
	return cut{}, false
}

// inAccessKey takes the id of an access key of AWS: AKIA or ASIA and 16 more.
func (t *scrubbing) inAccessKey(i int) (cut, bool) {
	if i == t.done || t.s[i-1] != 'A' || !strings.HasPrefix(t.s[i+1:], "IA") {
		return cut{}, false
	}
	end := i + 3
	for end < len(t.s) && (isUpper(t.s[end]) || isDigit(t.s[end])) {
		end++
	}
	if end-i-3 < 16 {
		return cut{}, false
	}
	return t.cutBetween(i-1, end)
}

// inAPIKey takes an API key of Google: AIza and 35 more.
func (t *scrubbing) inAPIKey(i int) (cut, bool) {
	if i < t.done+2 || t.s[i-2:i] != "AI" || !strings.HasPrefix(t.s[i+1:], "a") {
		return cut{}, false
	}
	if end := t.tokenEnd(i); end-i >= 30 {
		return t.cutBetween(i-2, end)
	}
	return cut{}, false
}

// atDash takes the word behind an option such as --password, a password joined to -p, and a key in PEM.
func (t *scrubbing) atDash(i int) (cut, bool) {
	if c, ok := t.afterPrefix(i); ok {
		return c, true
	}
	if i+1 < len(t.s) && t.s[i+1] == '-' && strings.HasPrefix(t.s[i:], "-----BEGIN ") {
		return t.inPEM(i)
	}
	if !t.startsWord(i) {
		return cut{}, false
	}
	return t.afterOption(i)
}

func (t *scrubbing) inPEM(i int) (cut, bool) {
	from := i + len("-----BEGIN ")
	if n := strings.Index(t.s[from:], "-----END "); n >= 0 {
		return t.cutBetween(i, min(len(t.s), t.wordsEnd(from+n+len("-----END "))))
	}
	return t.cutBetween(i, len(t.s))
}

// wordsEnd returns where the last line of the PEM block ends whose title begins at i.
func (t *scrubbing) wordsEnd(i int) int {
	if n := strings.Index(t.s[i:], "-----"); n >= 0 {
		return i + n + len("-----")
	}
	return len(t.s)
}

// afterOption takes the secret behind the option that begins at i. afterKey handles an option with an =.
func (t *scrubbing) afterOption(i int) (cut, bool) {
	name := i
	for name < len(t.s) && t.s[name] == '-' {
		name++
	}
	end := name
	for end < len(t.s) && isKey(t.s[end]) {
		end++
	}
	if end == name || end < len(t.s) && t.s[end] == '=' {
		return cut{}, false
	}
	option := t.s[name:end]
	if name == i+1 {
		if n := t.joinedSecret(name, t.wordEnd(end)); n > 0 {
			return t.cutBetween(name+n, t.bareEnd(end))
		}
	}
	next := end
	for next < len(t.s) && (isSpace(t.s[next]) || strings.IndexByte("\"',\\", t.s[next]) >= 0) {
		next++
	}
	stop := t.bareEnd(next)
	if next == end || next >= len(t.s) || t.s[next] == '-' {
		return cut{}, false
	}
	if t.secretOption(name, option, t.s[next:stop]) {
		return t.cutBetween(next, stop)
	}
	return cut{}, false
}

// secretOption reports whether the word behind an option is a secret. The option
// begins behind its dashes at i.
func (t *scrubbing) secretOption(i int, option, word string) bool {
	switch option {
	case "p", "pw":
		return word[0] != '/' && !isPort(word) // mkdir -p /path, httpd -p 80
	case "u", "user", "U":
		return strings.Contains(word, ":")
	}
	if len(option) == 1 {
		return t.behind(i, programSecrets[option[0]])
	}
	if option[len(option)-1] == 'u' && t.s[i-1] == '-' && t.s[max(0, i-2)] != '-' && t.behind(i, curl) {
		return strings.Contains(word, ":") // curl -fsSu user:secret
	}
	kind := kindOfKey(option)
	return kind == firmKey || kind == looseKey && !isWord(word)
}

var curl = []string{"curl"}

func isPort(word string) bool {
	for i := range len(word) {
		if !isDigit(word[i]) {
			return false
		}
	}
	return len(word) <= 5
}
