package alert

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes/filter"
)

// Bounds of an alert: bytes, parts, and the time that a part may name.
const (
	maxLength = 4096
	maxParts  = 8
	maxTime   = 30 * 24 * time.Hour
)

// Parse reads an alert. An error is a *filter.SyntaxError, whose column counts in the whole text.
func Parse(text string) (*Alert, error) {
	if len(text) > maxLength {
		return nil, &filter.SyntaxError{Filter: text[:maxLength], Column: maxLength, Why: "the alert is too long"}
	}
	p := &parser{text: text, tokens: lex(text)}
	a := &Alert{text: strings.TrimSpace(text)}
	for {
		next, err := p.part(len(a.parts) > 0)
		if err != nil {
			return nil, err
		}
		a.parts = append(a.parts, *next)
		if p.end() {
			return a, nil
		}
		switch {
		case next.absent:
			return nil, p.fail(p.here(), "then not ... within ends an alert; nothing can come after it")
		case len(a.parts) >= maxParts:
			return nil, p.fail(p.here(), "an alert has at most %d parts", maxParts)
		}
		p.at++ // then
	}
}

// parser reads tokens from left to right.
type parser struct {
	text   string
	tokens []token
	at     int
}

func (p *parser) end() bool { return p.at >= len(p.tokens) }

// here returns where the next token begins, or the end of the text.
func (p *parser) here() int {
	if p.end() {
		return len(p.text)
	}
	return p.tokens[p.at].start
}

func (p *parser) fail(at int, format string, args ...any) error {
	return &filter.SyntaxError{Filter: p.text, Column: utf8.RuneCountInString(p.text[:at]) + 1, Why: fmt.Sprintf(format, args...)}
}

func (p *parser) word(t token) string { return p.text[t.start:t.end] }

// next reports whether the next token is one of the words, outside of parentheses.
func (p *parser) next(words ...string) bool {
	return !p.end() && p.tokens[p.at].depth == 0 && p.is(p.tokens[p.at], words...)
}

func (p *parser) is(t token, words ...string) bool {
	return !t.quoted && slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(p.word(t), w) })
}

// part reads one part, up to the word then.
func (p *parser) part(after bool) (*part, error) {
	out := &part{}
	if after && p.next("not") {
		out.absent = true
		p.at++
	}
	begin, first := p.here(), p.at
	for !p.end() && !p.next("then", "within", "for") {
		p.at++
	}
	own := p.tokens[first:p.at]
	if len(own) == 0 {
		return nil, p.fail(begin, "a part is missing; write a filter such as err, or running>2m, or state=stuck")
	}
	out.text = p.text[own[0].start:own[len(own)-1].end]
	if err := p.subject(out, own); err != nil {
		return nil, err
	}
	if err := p.times(out, after); err != nil {
		return nil, err
	}
	if out.absent && out.within == 0 {
		return nil, p.fail(p.here(), "then not needs a time: write within, such as within 30s")
	}
	return out, nil
}

// times reads for and within, which stand behind a part.
func (p *parser) times(out *part, after bool) (err error) {
	for p.next("for", "within") {
		at, isFor := p.here(), p.next("for")
		switch {
		case isFor && out.kind == ofRunning:
			return p.fail(at, "for goes with state; a call that goes on is running>2m")
		case isFor && out.kind != ofState:
			return p.fail(at, `for goes with state, such as state=stuck for 5m; for the word write "for"`)
		case isFor && (out.longer != 0 || out.within != 0):
			return p.fail(at, "for stands once, and before within")
		case !isFor && !after:
			return p.fail(at, `within stands after then, such as err then not state=running within 1m; for the word write "within"`)
		case !isFor && out.within != 0:
			return p.fail(at, "within stands once in a part")
		}
		word := p.word(p.tokens[p.at])
		p.at++
		var d time.Duration
		if d, err = p.duration(word); err != nil {
			return err
		}
		if isFor {
			out.longer = d
			out.text += " for " + p.word(p.tokens[p.at-1])
		} else {
			out.within = d
		}
	}
	if !p.end() && !p.next("then") {
		return p.fail(p.here(), "after a time comes then, or nothing")
	}
	return nil
}

func (p *parser) duration(after string) (time.Duration, error) {
	at := p.here()
	if p.end() {
		return 0, p.fail(at, "%s needs a duration, such as 30s or 5m", after)
	}
	text := p.word(p.tokens[p.at])
	p.at++
	return p.readDuration(at, after, text)
}

func (p *parser) readDuration(at int, after, text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	switch {
	case err != nil || d <= 0:
		return 0, p.fail(at, "%s needs a duration, such as 30s or 5m", after)
	case d > maxTime:
		return 0, p.fail(at, "%s takes at most %.0fh", after, maxTime.Hours())
	}
	return d, nil
}

// subject reads what a part is about, and its filter.
func (p *parser) subject(out *part, own []token) error {
	special := -1
	for i, t := range own {
		key, op := p.special(t)
		if key == "" {
			continue
		}
		switch {
		case t.depth > 0:
			return p.fail(t.start, "%s stands outside of ( )", key)
		case special >= 0:
			return p.fail(t.start, "a part has one of running and state, once")
		case op == 0:
			return p.fail(t.start, "%s cannot be turned round; leave out the - or !", key)
		case i > 0 && p.is(own[i-1], "not", "-", "!"):
			return p.fail(own[i-1].start, "%s cannot be turned round; leave out the %s", key, p.word(own[i-1]))
		}
		special = i
		var err error
		if key == keyRunning {
			err = p.running(out, t, op)
		} else {
			err = p.state(out, t, op)
		}
		if err != nil {
			return err
		}
	}
	if special >= 0 {
		if err := p.connectors(own, special); err != nil {
			return err
		}
	}
	return p.filter(out, own, special)
}

// The keys of this package.
const (
	keyRunning = "running"
	keyState   = "state"
)

// special returns the key of this package that a token is about, and where its operator begins; 0: it is turned round.
func (p *parser) special(t token) (key string, op int) {
	if t.quoted {
		return "", 0
	}
	word := p.word(t)
	bare := strings.TrimLeft(word, "-!")
	for _, key := range []string{keyRunning, keyState} {
		rest, is := strings.CutPrefix(bare, key)
		if !is || rest == "" || !strings.ContainsAny(rest[:1], "=~<>!") {
			continue
		}
		if bare != word {
			return key, 0
		}
		return key, t.start + len(key)
	}
	return "", 0
}

func (p *parser) running(out *part, t token, op int) (err error) {
	out.kind = ofRunning
	value, is := strings.CutPrefix(p.text[op:t.end], ">")
	if !is || strings.HasPrefix(value, "=") {
		return p.fail(op, "running goes with > alone, such as running>2m")
	}
	out.longer, err = p.readDuration(op+1, "running>", value)
	return err
}

func (p *parser) state(out *part, t token, op int) error {
	out.kind = ofState
	value, is := strings.CutPrefix(p.text[op:t.end], "=")
	if !is || strings.HasPrefix(value, "~") {
		return p.fail(op, "state goes with = alone, such as state=stuck")
	}
	if out.state, is = life.StateNamed(value); !is {
		return p.fail(op+1, "state is one of %s", states())
	}
	return nil
}

// connectors checks what joins a term of this package to the filter beside it.
func (p *parser) connectors(own []token, special int) error {
	for i, t := range own {
		if t.depth > 0 {
			continue
		}
		switch {
		case p.is(t, "or", "|", "||"):
			return p.fail(t.start, "or stands in ( ) where a part has %s: write (a or b) %s", p.word(own[special]), p.word(own[special]))
		case !p.is(t, "and", "&", "&&"):
		case i == 0 || p.is(own[i-1], "and", "&", "&&"):
			return p.fail(t.start, `a term is missing before "and"`)
		case i == len(own)-1:
			return p.fail(t.end, `a term is missing after "and"`)
		}
	}
	return nil
}

// filter reads the filter of a part: all of it but the term of this package, and the words that join it. They become
// spaces, so columns stay.
func (p *parser) filter(out *part, own []token, special int) error {
	var b strings.Builder
	at := 0
	blank := func(until int) {
		b.WriteString(strings.Repeat(" ", utf8.RuneCountInString(p.text[at:until])))
		at = until
	}
	for i, t := range own {
		if i == special || special >= 0 && t.depth == 0 && p.is(t, "and", "&", "&&") {
			continue
		}
		blank(t.start)
		b.WriteString(p.text[t.start:t.end])
		at = t.end
	}
	f, err := filter.Parse(b.String())
	var syntax *filter.SyntaxError
	if errors.As(err, &syntax) {
		return &filter.SyntaxError{Filter: p.text, Column: min(syntax.Column, utf8.RuneCountInString(p.text)+1), Why: syntax.Why}
	}
	out.filter = f
	return err
}
