package ash

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Program is a command line that was understood.
type Program struct {
	stmts       []*syntax.Stmt
	interactive bool           // it reads its commands from stdin
	background  []*syntax.Stmt // the statements that the hidden command "background" runs, by number
	loops       int            // the next number for the hidden command "turn"
}

var shells = map[string]bool{"sh": true, "ash": true, "bash": true}

// maxDepth bounds how deep a program may nest, and maxText its length in bytes.
const (
	maxDepth = 32
	maxText  = 64 << 10
)

// Parse parses a command in the form that the runtime gets: a program and its arguments. It wraps ErrUnknown if any
// part is not understood.
func Parse(argv []string) (*Program, error) {
	if len(argv) == 0 {
		return nil, fmt.Errorf("%w: no command", ErrUnknown)
	}
	name := path.Base(argv[0])
	p := &Program{}
	switch b := builtins[name]; {
	case shells[name] && len(argv) == 1:
		p.interactive = true
		return p, nil
	case shells[name] && len(argv) == 3 && argv[1] == "-c":
		var err error
		p.stmts, err = p.parse(argv[2], 0)
		return p, err
	case shells[name]:
		return nil, fmt.Errorf("%w: options of %s", ErrUnknown, argv[0])
	case b != nil && b.shellOnly:
		return nil, fmt.Errorf("%w: %s outside of a shell", ErrUnknown, argv[0])
	}
	r := &reading{program: p}
	p.stmts = []*syntax.Stmt{{Cmd: r.call(call(argv...))}}
	return p, r.err
}

// parse parses a list of commands at a depth of a program, and returns the statements that the interpreter runs.
func (p *Program) parse(text string, depth int) ([]*syntax.Stmt, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("%w: longer than %d bytes", ErrUnknown, maxText)
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(text), "")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	r := &reading{program: p, text: text, depth: depth}
	return append(r.list(file.Stmts), hidden("signal")), r.err
}

// call returns a simple command of words in which nothing is to be expanded.
func call(words ...string) *syntax.CallExpr {
	c := &syntax.CallExpr{}
	for _, w := range words {
		c.Args = append(c.Args, &syntax.Word{Parts: []syntax.WordPart{&syntax.SglQuoted{Value: w}}})
	}
	return c
}

// hidden returns a command that only this package knows; see (*command).hidden.
func hidden(words ...string) *syntax.Stmt { return &syntax.Stmt{Cmd: call(words...)} }

func block(stmts ...*syntax.Stmt) *syntax.Stmt {
	return &syntax.Stmt{Cmd: &syntax.Block{Stmts: stmts}}
}

// reading checks a text whose syntax was parsed. It refuses all that it does not expressly allow. On the way it adds
// the hidden commands.
type reading struct {
	program     *Program
	text        string
	depth       int
	substituted bool  // inside of $(...)
	err         error // why the text is refused, the first reason
}

func (r *reading) refuse(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: "+format, append([]any{ErrUnknown}, args...)...)
	}
}

// unknown refuses a part of the text.
func (r *reading) unknown(n syntax.Node) { r.refuse("%q", r.source(n)) }

// source returns a part of the text as it was written.
func (r *reading) source(n syntax.Node) string { return r.text[n.Pos().Offset():n.End().Offset()] }

// list returns the statements that the interpreter runs for a list of statements. Before each it looks for a signal.
// In $(...) it does not: a trap belongs to the shell itself.
func (r *reading) list(stmts []*syntax.Stmt) (all []*syntax.Stmt) {
	r.depth++
	defer func() { r.depth-- }()
	if r.depth > maxDepth {
		r.refuse("nested too deep")
		return nil
	}
	for _, s := range stmts {
		if !r.substituted {
			all = append(all, hidden("signal"))
		}
		all = append(all, r.statement(s))
	}
	return all
}

func (r *reading) statement(s *syntax.Stmt) *syntax.Stmt {
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		s.Cmd = r.call(c)
	case nil:
		if r.substituted { // $(<file) is only in bash
			r.unknown(s)
		}
	default:
		if len(s.Redirs) > 0 {
			r.refuse("a redirection of several commands")
		}
		s.Cmd = r.compound(c)
	}
	for _, to := range s.Redirs {
		r.redirect(to)
	}
	if !s.Background {
		return s
	}
	// BusyBox has &>, where POSIX reads & and then >.
	if end := int(s.Semicolon.Offset()) + 1; r.substituted || end < len(r.text) && r.text[end] == '>' {
		r.unknown(s)
	}
	s.Background = false
	r.program.background = append(r.program.background, s)
	return hidden("background", strconv.Itoa(len(r.program.background)-1))
}

func (r *reading) compound(c syntax.Command) syntax.Command {
	switch c := c.(type) {
	case *syntax.Block:
		c.Stmts = r.list(c.Stmts)
	case *syntax.BinaryCmd:
		if c.Op != syntax.AndStmt && c.Op != syntax.OrStmt {
			r.refuse("%q", c.Op)
		}
		c.X, c.Y = block(r.list([]*syntax.Stmt{c.X})...), block(r.list([]*syntax.Stmt{c.Y})...)
	case *syntax.IfClause:
		c.Cond, c.Then = r.list(c.Cond), r.list(c.Then)
		if c.Else != nil {
			r.compound(c.Else)
		}
	case *syntax.WhileClause:
		return r.loop(c)
	case *syntax.ForClause:
		over, ok := c.Loop.(*syntax.WordIter)
		if !ok || !over.InPos.IsValid() || c.Select || c.Braces {
			r.unknown(c)
			break
		}
		r.words(over.Items)
		c.Do = r.list(c.Do)
	default:
		r.unknown(c)
	}
	return c
}

// loop bounds how fast a loop turns, and gives the loop the exit code of its last turn, which the interpreter
// forgets.
func (r *reading) loop(c *syntax.WhileClause) syntax.Command {
	number := strconv.Itoa(r.program.loops)
	r.program.loops++
	c.Cond, c.Do = r.list(c.Cond), append(r.list(c.Do), hidden("turn", number))
	return block(&syntax.Stmt{Cmd: c}, hidden("turned", number)).Cmd
}

// redirect accepts >, >>, <, 2>, >&2 and their like.
func (r *reading) redirect(s *syntax.Redirect) {
	r.word(s.Word)
	if r.err != nil {
		return
	}
	fd, _ := literal(s.Word)
	known := s.Op == syntax.RdrOut || s.Op == syntax.RdrIn || s.Op == syntax.AppOut || s.Op == syntax.DplOut && (fd == "1" || fd == "2")
	if n := s.N; !known || n != nil && (n.Value != "1" && n.Value != "2" || s.Op == syntax.RdrIn) {
		r.unknown(s)
	}
}
