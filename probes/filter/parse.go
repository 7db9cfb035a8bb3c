package filter

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of a filter: bytes, and parentheses or negations in each other.
const (
	maxLength = 4096
	maxDepth  = 64
)

// SyntaxError is the error for a filter that cannot be read.
type SyntaxError struct {
	// Filter is the text. Column is the character at which reading ended, from 1.
	Filter string
	Column int
	// Why states what is wrong, and what to write instead.
	Why string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("column %d: %s", e.Column, e.Why) }

// Pointer returns a line to print below the filter: spaces, and ^ at the column.
func (e *SyntaxError) Pointer() string { return strings.Repeat(" ", max(0, e.Column-1)) + "^" }

// parser reads a filter from left to right.
type parser struct {
	text string
	at   int
}

func (p *parser) end() bool { return p.at >= len(p.text) }

func (p *parser) fail(at int, format string, args ...any) error {
	return &SyntaxError{Filter: p.text, Column: utf8.RuneCountInString(p.text[:at]) + 1, Why: fmt.Sprintf(format, args...)}
}

func (p *parser) space() {
	p.at = len(p.text) - len(strings.TrimLeftFunc(p.text[p.at:], unicode.IsSpace))
}

func (p *parser) take(symbol string) bool {
	if !strings.HasPrefix(p.text[p.at:], symbol) {
		return false
	}
	p.at += len(symbol)
	return true
}

// word reads the reserved word w, if it comes next and ends where a term would.
func (p *parser) word(w string) bool {
	rest := p.text[p.at:]
	if len(rest) < len(w) || !strings.EqualFold(rest[:len(w)], w) || (len(rest) > len(w) && !ends(rest[len(w):])) {
		return false
	}
	p.at += len(w)
	return true
}

// ends reports whether a term that is not quoted ends before rest.
func ends(rest string) bool {
	r, _ := utf8.DecodeRuneInString(rest)
	return unicode.IsSpace(r) || strings.ContainsRune(`()|"`, r)
}

func (p *parser) or(depth int) (expr, error) {
	first, err := p.and(depth)
	if err != nil {
		return nil, err
	}
	found := some{first}
	for p.word("or") || p.take("||") || p.take("|") {
		next, err := p.and(depth)
		if err != nil {
			return nil, err
		}
		found = append(found, next)
	}
	if len(found) == 1 {
		return first, nil
	}
	return found, nil
}

func (p *parser) and(depth int) (expr, error) {
	var found all
	for {
		p.space()
		if len(found) > 0 {
			if p.end() || p.text[p.at] == ')' || p.text[p.at] == '|' || p.peekOr() {
				break
			}
			p.and_()
		}
		next, err := p.unary(depth)
		if err != nil {
			return nil, err
		}
		found = append(found, next)
	}
	if len(found) == 1 {
		return found[0], nil
	}
	return found, nil
}

// and_ passes over an "and" that a person wrote between two terms, where a space is enough.
func (p *parser) and_() {
	if p.word("and") || p.take("&&") || p.take("&") {
		p.space()
	}
}

func (p *parser) peekOr() bool {
	before := p.at
	defer func() { p.at = before }()
	return p.word("or")
}

func (p *parser) unary(depth int) (expr, error) {
	start := p.at
	switch {
	case depth > maxDepth:
		return nil, p.fail(start, "the filter is nested too deeply")
	case p.end():
		return nil, p.fail(start, "a term is missing; write one such as pod~web, or a word to look for")
	case p.word("or"), p.take("|"):
		return nil, p.fail(start, `a term is missing before "or"`)
	case p.word("and"), p.take("&"):
		return nil, p.fail(start, `a term is missing before "and"`)
	case p.take(")"):
		return nil, p.fail(start, "a term is missing before )")
	case p.word("not"), p.take("-"), p.take("!"):
		p.space()
		inner, err := p.unary(depth + 1)
		if err != nil {
			return nil, err
		}
		return not{inner}, nil
	case p.take("("):
		inner, err := p.or(depth + 1)
		if err != nil {
			return nil, err
		}
		if !p.take(")") {
			return nil, p.fail(start, "this ( has no closing )")
		}
		return inner, nil
	}
	return p.term()
}

// term reads a word, a "quoted text", a key, or a key, an operator and a value.
func (p *parser) term() (expr, error) {
	start := p.at
	if p.text[p.at] == '"' {
		return p.bare()
	}
	for !p.end() && !ends(p.text[p.at:]) && operatorAt(p.text[p.at:]) == "" {
		_, size := utf8.DecodeRuneInString(p.text[p.at:])
		p.at += size
	}
	name := p.text[start:p.at]
	op := operatorAt(p.text[p.at:])
	if op == "" {
		return newWord(name), nil
	}
	if name == "" {
		return nil, p.fail(start, "%s needs a key before it, such as step%s", op, op)
	}
	t := &term{name: name, op: op}
	if !t.resolveKey() {
		return nil, p.fail(start, "there is no key %s; keys are %s", name, keyNames())
	}
	if takes := t.key.sort.operators(); !slices.Contains(takes, op) {
		return nil, p.fail(p.at, "%s does not go with %s; write one of %s", t.name, op, strings.Join(takes, " "))
	}
	p.at += len(op)
	at := p.at
	var err error
	if t.value, err = p.value(); err != nil {
		return nil, err
	}
	if why := t.prepare(); why != "" {
		return nil, p.fail(at, "%s", why)
	}
	return t, nil
}

func (p *parser) bare() (expr, error) {
	text, err := p.value()
	if err != nil {
		return nil, err
	}
	return &word{newPattern(text), text}, nil
}

// value reads what follows an operator.
func (p *parser) value() (string, error) {
	if !strings.HasPrefix(p.text[p.at:], `"`) {
		start := p.at
		for !p.end() && !ends(p.text[p.at:]) {
			_, size := utf8.DecodeRuneInString(p.text[p.at:])
			p.at += size
		}
		if p.at == start {
			return "", p.fail(start, `a value is missing; write "" if you mean an empty one`)
		}
		return p.text[start:p.at], nil
	}
	start := p.at
	var b strings.Builder
	for p.at++; !p.end(); p.at++ {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			return b.String(), nil
		case c == '\\' && p.at+1 < len(p.text) && strings.IndexByte(`"\`, p.text[p.at+1]) >= 0:
			p.at++
			b.WriteByte(p.text[p.at])
		default:
			b.WriteByte(c)
		}
	}
	return "", p.fail(start, `this " has no closing "`)
}

// operators has longer operators before the shorter ones that they begin with.
var operators = []string{"=~", "!=", "!~", ">=", "<=", "=", "~", ">", "<"}

func operatorAt(text string) string {
	for _, op := range operators {
		if strings.HasPrefix(text, op) {
			return op
		}
	}
	return ""
}

// quote returns a value in a form that value reads, without quotes if possible.
func quote(s string) string {
	plain := s != ""
	for i := range s {
		plain = plain && !ends(s[i:])
	}
	if plain {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
