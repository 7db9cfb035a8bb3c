package ash

import (
	"fmt"
	"path"
	"strings"

	"mvdan.cc/sh/v3/syntax"
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
	c, err := newSimple(nil, words, nil, 0)
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

// parseList reads a list of commands that stands so deep in a program.
func parseList(text string, depth int) (node, error) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return (&reading{text: text, depth: depth}).list(file.Stmts)
}

// reading makes the nodes of a text of which the syntax is known.
type reading struct {
	text  string
	depth int
}

// list makes a sequence of statements.
func (r *reading) list(stmts []*syntax.Stmt) (node, error) {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > maxDepth {
		return nil, fmt.Errorf("%w: nested too deep", ErrUnknown)
	}
	var all sequence
	for _, s := range stmts {
		n, err := r.statement(s)
		if err != nil {
			return nil, err
		}
		// BusyBox has &>, which POSIX reads as & and >.
		if end := int(s.Semicolon.Offset()) + 1; s.Background && end < len(r.text) && r.text[end] == '>' {
			return nil, fmt.Errorf("%w: &>", ErrUnknown)
		}
		all = append(all, item{n, s.Background})
	}
	return all, nil
}

func (r *reading) statement(s *syntax.Stmt) (node, error) {
	n, err := r.command(s)
	if s.Negated && err == nil {
		n = inverse{n}
	}
	return n, err
}

func (r *reading) command(s *syntax.Stmt) (node, error) {
	call, simple := s.Cmd.(*syntax.CallExpr)
	if simple || s.Cmd == nil {
		return r.simple(call, s.Redirs)
	}
	if len(s.Redirs) > 0 {
		return nil, fmt.Errorf("%w: a redirection of several commands", ErrUnknown)
	}
	switch c := s.Cmd.(type) {
	case *syntax.Block:
		return r.list(c.Stmts)
	case *syntax.BinaryCmd:
		return r.either(c)
	case *syntax.IfClause:
		return r.branch(c)
	case *syntax.WhileClause:
		cond, body, err := r.both(c.Cond, c.Do)
		return loop{cond, body, c.Until}, err
	case *syntax.ForClause:
		return r.each(c)
	}
	return nil, r.unknown(s.Cmd)
}

// unknown is the error for a part of the text that is not understood.
func (r *reading) unknown(n syntax.Node) error { return fmt.Errorf("%w: %q", ErrUnknown, r.source(n)) }

// source is a part of the text, as it was written.
func (r *reading) source(n syntax.Node) string { return r.text[n.Pos().Offset():n.End().Offset()] }

// both makes two lists.
func (r *reading) both(first, second []*syntax.Stmt) (one, two node, err error) {
	if one, err = r.list(first); err == nil {
		two, err = r.list(second)
	}
	return one, two, err
}

func (r *reading) either(c *syntax.BinaryCmd) (node, error) {
	if c.Op != syntax.AndStmt && c.Op != syntax.OrStmt {
		return nil, fmt.Errorf("%w: %q", ErrUnknown, c.Op)
	}
	left, right, err := r.both([]*syntax.Stmt{c.X}, []*syntax.Stmt{c.Y})
	return either{left, right, c.Op == syntax.OrStmt}, err
}

// branch makes an if, an elif, or an else, which has no condition.
func (r *reading) branch(c *syntax.IfClause) (node, error) {
	if len(c.Cond) == 0 {
		return r.list(c.Then)
	}
	cond, then, err := r.both(c.Cond, c.Then)
	b := branch{cond, then, sequence(nil)}
	if err == nil && c.Else != nil {
		b.otherwise, err = r.branch(c.Else)
	}
	return b, err
}

func (r *reading) each(c *syntax.ForClause) (node, error) {
	over, ok := c.Loop.(*syntax.WordIter)
	if !ok || !over.InPos.IsValid() || c.Select || c.Braces {
		return nil, r.unknown(c)
	}
	words, err := r.words(over.Items)
	if err != nil {
		return nil, err
	}
	body, err := r.list(c.Do)
	return each{over.Name.Value, words, body}, err
}
