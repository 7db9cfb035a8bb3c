package ash

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// simple reads assignments, a command's words, and redirections.
func (p *parser) simple() (node, error) {
	var assigns []assign
	var words []word
	var redirs []redir
	for !p.end() {
		t := p.tokens[0]
		if t.op == "redir" {
			r := *t.redir
			p.tokens = p.tokens[1:]
			if r.toFD < 0 {
				if p.end() || p.tokens[0].op != "" {
					return nil, p.unexpected()
				}
				r.target = p.tokens[0].word
				p.tokens = p.tokens[1:]
			}
			redirs = append(redirs, r)
			continue
		}
		if t.op != "" {
			break
		}
		p.tokens = p.tokens[1:]
		if t.word.pattern() {
			return nil, fmt.Errorf("%w: pattern %q", ErrUnknown, t)
		}
		if name, value, ok := cutAssign(t.word); ok && len(words) == 0 {
			assigns = append(assigns, assign{name, value})
			continue
		}
		words = append(words, t.word)
	}
	if len(words) == 0 && len(assigns) == 0 && len(redirs) == 0 {
		return nil, p.unexpected()
	}
	return p.command(assigns, words, redirs)
}

// cutAssign tells whether a word is NAME=value.
func cutAssign(w word) (string, word, bool) {
	if len(w) == 0 || !w[0].plain() {
		return "", nil, false
	}
	name, first, ok := strings.Cut(w[0].text, "=")
	if !ok || !isIdentifier(name) {
		return "", nil, false
	}
	return name, append(word{{text: first, quoted: true}}, w[1:]...), true
}

// command makes a simple command, if its builtin is known and takes these words.
func (p *parser) command(assigns []assign, words []word, redirs []redir) (node, error) {
	c := &simple{assigns: assigns, redirs: redirs}
	if len(words) == 0 {
		return c, nil
	}
	name, ok := words[0].literal()
	if ok && name == "exec" && len(words) > 1 {
		c.leave = true
		words = words[1:]
		name, ok = words[0].literal()
	}
	b := builtins[path.Base(name)]
	if !ok || b == nil {
		return nil, fmt.Errorf("%w: command %q", ErrUnknown, name)
	}
	if len(assigns) > 0 { // variables for one command only
		return nil, fmt.Errorf("%w: an assignment before a command", ErrUnknown)
	}
	c.command, c.words = b, words[1:]
	if err := b.takes(name, c.words); err != nil {
		return nil, err
	}
	if b == builtins["trap"] {
		return c, p.trap(c)
	}
	return c, nil
}

// takes checks the words that begin with a dash against the options that are known.
func (b *builtin) takes(name string, words []word) error {
	for _, w := range words {
		text, literal := w.literal()
		if !literal && b.literal {
			return fmt.Errorf("%w: %s of something expanded", ErrUnknown, name)
		}
		if b.options == anyWord || len(w) == 0 {
			continue
		}
		option, dash := strings.CutPrefix(w[0].text, "-")
		if !dash || text == "-" && b.literal {
			continue
		}
		if option == "" || strings.Trim(option, b.options) != "" {
			return fmt.Errorf("%w: %s %s", ErrUnknown, name, text)
		}
	}
	if b.check == nil {
		return nil
	}
	args := make([]string, len(words))
	for i, w := range words {
		args[i], _ = w.literal()
	}
	if !b.check(args) {
		return fmt.Errorf("%w: %s %s", ErrUnknown, name, strings.Join(args, " "))
	}
	return nil
}

// trap parses a trap's text along with the program, so that nothing unknown is met later.
func (p *parser) trap(c *simple) error {
	text, _ := c.words[0].literal()
	if text == "-" {
		return nil
	}
	body, err := parseList(text, p.depth+1)
	c.body = body
	return err
}

// sum is a value, or two values with an operator between.
type sum struct {
	left, right string
	op          byte
}

func parseSum(text string) (*sum, error) {
	text = strings.ReplaceAll(text, " ", "")
	s := &sum{left: text}
	if i := strings.IndexAny(text, "+-*/%"); i >= 0 {
		s.left, s.right, s.op = text[:i], text[i+1:], text[i]
	}
	if !isOperand(s.left) || s.op != 0 && !isOperand(s.right) {
		return nil, fmt.Errorf("%w: this sum", ErrUnknown)
	}
	s.left, s.right = strings.TrimPrefix(s.left, "$"), strings.TrimPrefix(s.right, "$")
	return s, nil
}

func isOperand(s string) bool {
	if _, err := strconv.Atoi(s); err == nil {
		return true
	}
	return isIdentifier(strings.TrimPrefix(s, "$"))
}

func (s *sum) value(sh *shell) int {
	left := sh.number(s.left)
	if s.op == 0 {
		return left
	}
	right := sh.number(s.right)
	switch s.op {
	case '+':
		return left + right
	case '-':
		return left - right
	case '*':
		return left * right
	}
	if right == 0 {
		sh.exit(2)
		return 0
	}
	if s.op == '/' {
		return left / right
	}
	return left % right
}

func (sh *shell) number(operand string) int {
	if n, err := strconv.Atoi(operand); err == nil {
		return n
	}
	n, _ := strconv.Atoi(sh.vars[operand]) // an unset variable counts as 0
	return n
}
