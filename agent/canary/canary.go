package canary

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

const (
	// random is how many random characters a value has.
	random = 24
	// piece is the shortest part of a value that counts as the value, since a text may have been cut short.
	piece = 12
	// alphabet has no characters that separate or mark anything.
	alphabet = "abcdefghijkmnpqrstuvwxyz23456789"
	// hard has characters that encodings write differently.
	hard = `<&>"'\/+%é =`
)

// Set has the values of one test. It is not safe for use by several goroutines while values are added.
type Set struct {
	names  map[string]string // by value
	values map[string]string // by name
	forms  []form
}

// form is one encoding in which a part of a value may stand.
type form struct {
	text []byte
	name string
	how  string
}

// NewSet returns a set without values.
func NewSet() *Set { return &Set{names: map[string]string{}, values: map[string]string{}} }

// Value returns the value of that name: letters and digits, with nothing in it that looks like a secret. The same name
// always has the same value.
func (s *Set) Value(name string) string {
	if v, ok := s.values[name]; ok {
		return v
	}
	return s.Add(name, word())
}

// Hard is like Value, but has characters between two such words that encodings change.
func (s *Set) Hard(name string) string {
	if v, ok := s.values[name]; ok {
		return v
	}
	return s.Add(name, word()+hard+word())
}

func word() string {
	b := make([]byte, random)
	_, _ = rand.Read(b) // it never fails
	for i := range b {
		b[i] = alphabet[int(b[i])%len(alphabet)]
	}
	return "q" + string(b) // so it is never a number
}

// Add adds a value that was made elsewhere, such as a token of the API server, and returns it. It panics for a value of
// fewer than twice piece bytes.
func (s *Set) Add(name, value string) string {
	if len(value) < 2*piece {
		panic(fmt.Sprintf("canary %s is too short to be found: %q", name, value))
	}
	s.values[name], s.names[value] = value, name
	for _, part := range []string{value[:piece], value[len(value)-piece:]} {
		s.addForms(name, part)
	}
	return value
}

func (s *Set) addForms(name, part string) {
	add := func(how, text string) {
		if text == "" || slices.ContainsFunc(s.forms, func(f form) bool { return f.name == name && string(f.text) == text }) {
			return
		}
		s.forms = append(s.forms, form{[]byte(text), name, how})
	}
	add("plain", part)
	quoted, _ := json.Marshal(part)
	add("JSON", strings.Trim(string(quoted), `"`))
	add("Go", strings.Trim(strconv.Quote(part), `"`))
	add("URL", url.QueryEscape(part))
	add("URL", url.PathEscape(part))
	add("hex", hex.EncodeToString([]byte(part)))
	add("hex", strings.ToUpper(hex.EncodeToString([]byte(part))))
	for shift := range 3 {
		// Base64 characters at both ends also depend on the bytes beside the part, and are left out.
		for how, e := range map[string]*base64.Encoding{"base64": base64.RawStdEncoding, "base64 for URLs": base64.RawURLEncoding} {
			text := e.EncodeToString(append(make([]byte, shift), part...))
			add(how, text[(shift*8+5)/6:(shift+len(part))*8/6])
		}
	}
}

// Found is a value that was found.
type Found struct {
	Name   string // of the value
	How    string // the encoding in which it stands there
	Around string // the text around it
}

func (f Found) String() string { return fmt.Sprintf("%s, %s, in %q", f.Name, f.How, f.Around) }

// around is how much text is shown on each side of a value, in bytes.
const around = 160

// Find looks for every value in text, which may be any bytes. It reports a value once.
func (s *Set) Find(text []byte) []Found {
	var out []Found
	seen := map[string]bool{}
	for _, f := range s.forms {
		if seen[f.name] {
			continue
		}
		if i := bytes.Index(text, f.text); i >= 0 {
			seen[f.name] = true
			out = append(out, Found{f.name, f.how, string(text[max(0, i-around):min(len(text), i+len(f.text)+around)])})
		}
	}
	return out
}

// FindString is Find for a text.
func (s *Set) FindString(text string) []Found { return s.Find([]byte(text)) }

// Names returns the names of the values, sorted.
func (s *Set) Names() []string {
	out := make([]string, 0, len(s.values))
	for name := range s.values {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
