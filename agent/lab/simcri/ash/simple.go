package ash

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// simple makes a simple command of assignments, words and redirections; call is
// nil if there are only the latter.
func (r *reading) simple(call *syntax.CallExpr, redirs []*syntax.Redirect) (node, error) {
	if call == nil {
		call = &syntax.CallExpr{}
	}
	assigns, err := r.assigns(call.Assigns)
	if err != nil {
		return nil, err
	}
	words, err := r.words(call.Args)
	if err != nil {
		return nil, err
	}
	var all []redir
	for _, s := range redirs {
		to, err := r.redirect(s)
		if err != nil {
			return nil, err
		}
		all = append(all, to)
	}
	return newSimple(assigns, words, all, r.depth)
}

func (r *reading) assigns(all []*syntax.Assign) (out []assign, err error) {
	for _, s := range all {
		if s.Append || s.Naked || s.Index != nil || s.Array != nil {
			return nil, r.unknown(s)
		}
		a := assign{name: s.Name.Value}
		if s.Value != nil {
			if a.value, err = r.word(s.Value); err != nil {
				return nil, err
			}
		}
		out = append(out, a)
	}
	return out, nil
}

// redirect takes >, >>, <, 2>, >&2 and their like.
func (r *reading) redirect(s *syntax.Redirect) (redir, error) {
	to := redir{fd: 1, toFD: -1, input: s.Op == syntax.RdrIn, appending: s.Op == syntax.AppOut}
	target, err := r.word(s.Word)
	if err != nil {
		return to, err
	}
	if n := s.N; n != nil {
		if n.Value != "1" && n.Value != "2" || to.input {
			return to, r.unknown(s)
		}
		to.fd = int(n.Value[0] - '0')
	}
	switch fd, _ := target.literal(); {
	case s.Op == syntax.RdrOut, to.input, to.appending:
		to.target = target
	case s.Op == syntax.DplOut && (fd == "1" || fd == "2"):
		to.toFD = int(fd[0] - '0')
	default:
		return to, r.unknown(s)
	}
	return to, nil
}

// newSimple makes a simple command that stands so deep in a program, if its
// builtin is known and takes these words.
func newSimple(assigns []assign, words []word, redirs []redir, depth int) (node, error) {
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
		return c, c.parseTrap(depth)
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

// parseTrap parses a trap's text along with the program, so that nothing unknown is met later.
func (c *simple) parseTrap(depth int) error {
	text, _ := c.words[0].literal()
	if text == "-" {
		return nil
	}
	body, err := parseList(text, depth)
	c.body = body
	return err
}

// sum is a value, or two values with an operator between.
type sum struct {
	left, right string
	op          byte
}

// operators are those of a sum.
var operators = map[syntax.BinAritOperator]byte{
	syntax.Add: '+', syntax.Sub: '-', syntax.Mul: '*', syntax.Quo: '/', syntax.Rem: '%',
}

// sum makes a sum of what stands in $((...)).
func (r *reading) sum(x syntax.ArithmExpr) (s *sum, ok bool) {
	b, two := x.(*syntax.BinaryArithm)
	if !two {
		left, ok := r.operand(x)
		return &sum{left: left}, ok
	}
	left, leftOK := r.operand(b.X)
	right, rightOK := r.operand(b.Y)
	op := operators[b.Op]
	return &sum{left, right, op}, leftOK && rightOK && op != 0
}

// operand is a number or the name of a variable, with or without its $.
func (r *reading) operand(x syntax.ArithmExpr) (string, bool) {
	w, ok := x.(*syntax.Word)
	if !ok || len(w.Parts) != 1 {
		return "", false
	}
	switch p := w.Parts[0].(type) {
	case *syntax.ParamExp:
		return r.variable(p)
	case *syntax.Lit:
		_, err := strconv.Atoi(p.Value)
		return p.Value, err == nil || syntax.ValidName(p.Value)
	}
	return "", false
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
