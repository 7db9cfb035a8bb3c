package ash

import (
	"fmt"
	"path"
)

// Program is a command line that is understood.
type Program struct{ body node }

// node is a part of a program; its run gives the exit code.
type node interface{ run(*shell) int }

type (
	// sequence is commands one after the other; an item may be left in the background.
	sequence []item
	item     struct {
		node
		background bool
	}
	// either runs right when left succeeded, or when it failed.
	either struct {
		left, right node
		onFailure   bool
	}
	inverse struct{ node }
	loop    struct {
		cond, body node
		until      bool
	}
	branch struct{ cond, then, otherwise node }
	each   struct {
		name  string
		words []word
		body  node
	}
	simple struct {
		assigns []assign
		command *builtin
		words   []word // without the command's name
		redirs  []redir
		leave   bool // exec: the shell ends with it
		body    node // trap: what to do
	}
	assign struct {
		name  string
		value word
	}
	redir struct {
		fd, toFD  int // toFD is -1 when there is a target
		input     bool
		appending bool
		target    word
	}
)

var shells = map[string]bool{"sh": true, "ash": true, "bash": true}

// maxDepth bounds how deep a program may nest, and maxText its length in bytes.
const (
	maxDepth = 32
	maxText  = 64 << 10
)

// Parse reads a command as the runtime is given it: a program and its arguments.
// It wraps ErrUnknown when any part of it is not understood.
func Parse(argv []string) (*Program, error) {
	if len(argv) == 0 {
		return nil, fmt.Errorf("%w: no command", ErrUnknown)
	}
	if shells[path.Base(argv[0])] {
		switch {
		case len(argv) == 1:
			return &Program{reader{}}, nil
		case len(argv) == 3 && argv[1] == "-c":
			return parseText(argv[2])
		}
		return nil, fmt.Errorf("%w: options of %s", ErrUnknown, argv[0])
	}
	if b := builtins[path.Base(argv[0])]; b != nil && b.shellOnly {
		return nil, fmt.Errorf("%w: %s outside of a shell", ErrUnknown, argv[0])
	}
	words := make([]word, len(argv))
	for i, a := range argv {
		words[i] = word{{text: a, quoted: true}}
	}
	p := &parser{}
	c, err := p.command(nil, words, nil)
	if err != nil {
		return nil, err
	}
	return &Program{c}, nil
}

func parseText(text string) (*Program, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("%w: longer than %d bytes", ErrUnknown, maxText)
	}
	body, err := parseList(text, 0)
	if err != nil {
		return nil, err
	}
	return &Program{body}, nil
}

func parseList(text string, depth int) (node, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("%w: nested too deep", ErrUnknown)
	}
	tokens, err := lex(text, depth)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens, depth: depth}
	body, err := p.list()
	if err != nil {
		return nil, err
	}
	if !p.end() {
		return nil, p.unexpected()
	}
	return body, nil
}

// parser is a recursive descent over tokens.
type parser struct {
	tokens []token
	depth  int
}

func (p *parser) end() bool { return len(p.tokens) == 0 }

func (p *parser) unexpected() error {
	if p.end() {
		return fmt.Errorf("%w: the text ends too early", ErrUnknown)
	}
	return fmt.Errorf("%w: %q", ErrUnknown, p.tokens[0].String())
}

// op takes an operator if it is next.
func (p *parser) op(ops ...string) (string, bool) {
	if p.end() {
		return "", false
	}
	for _, o := range ops {
		if p.tokens[0].op == o {
			p.tokens = p.tokens[1:]
			return o, true
		}
	}
	return "", false
}

// keyword is the reserved word that is next, or "".
func (p *parser) keyword() string {
	if p.end() || p.tokens[0].op != "" {
		return ""
	}
	w := p.tokens[0].word
	if len(w) == 1 && w[0].plain() && reserved[w[0].text] {
		return w[0].text
	}
	return ""
}

var reserved = map[string]bool{
	"while": true, "until": true, "for": true, "do": true, "done": true, "if": true, "then": true,
	"elif": true, "else": true, "fi": true, "{": true, "}": true, "!": true, "case": true, "function": true,
}

// take consumes the keyword, or fails.
func (p *parser) take(keyword string) error {
	if p.keyword() != keyword {
		return p.unexpected()
	}
	p.tokens = p.tokens[1:]
	return nil
}

// list reads commands until the end or a word that closes the list.
func (p *parser) list() (node, error) {
	var all sequence
	for {
		for _, ok := p.op("\n"); ok; _, ok = p.op("\n") {
		}
		if p.end() || closes[p.keyword()] {
			return all, nil
		}
		n, err := p.andOr()
		if err != nil {
			return nil, err
		}
		sep, ok := p.op(";", "&", "\n")
		all = append(all, item{n, sep == "&"})
		if !ok && !p.end() && !closes[p.keyword()] {
			return nil, p.unexpected()
		}
	}
}

var closes = map[string]bool{"do": true, "done": true, "then": true, "elif": true, "else": true, "fi": true, "}": true}

func (p *parser) andOr() (node, error) {
	left, err := p.part()
	for err == nil {
		op, ok := p.op("&&", "||")
		if !ok {
			return left, nil
		}
		for _, nl := p.op("\n"); nl; _, nl = p.op("\n") {
		}
		var right node
		if right, err = p.part(); err == nil {
			left = either{left, right, op == "||"}
		}
	}
	return nil, err
}

func (p *parser) part() (node, error) {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return nil, fmt.Errorf("%w: nested too deep", ErrUnknown)
	}
	switch kw := p.keyword(); kw {
	case "":
		return p.simple()
	case "!":
		p.tokens = p.tokens[1:]
		n, err := p.part()
		return inverse{n}, err
	case "while", "until":
		p.tokens = p.tokens[1:]
		return p.loop(kw == "until")
	case "if":
		p.tokens = p.tokens[1:]
		return p.branch()
	case "for":
		p.tokens = p.tokens[1:]
		return p.each()
	case "{":
		p.tokens = p.tokens[1:]
		body, err := p.list()
		if err != nil {
			return nil, err
		}
		return body, p.take("}")
	}
	return nil, p.unexpected()
}
