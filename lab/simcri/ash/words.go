package ash

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// call checks a simple command: its builtin must be known and accept these words.
func (r *reading) call(c *syntax.CallExpr) syntax.Command {
	for _, a := range c.Assigns {
		if a.Append || a.Naked || a.Index != nil || a.Array != nil || len(c.Args) > 0 {
			r.unknown(a)
		} else if a.Value != nil {
			r.word(a.Value)
		}
	}
	r.words(c.Args)
	if len(c.Args) == 0 || r.err != nil {
		return c
	}
	words := c.Args
	name, _ := literal(words[0])
	leaves := name == "exec" && len(words) > 1
	if leaves {
		words = words[1:]
		name, _ = literal(words[0])
	}
	b := builtins[path.Base(name)]
	if b == nil || b.shellOnly && leaves {
		r.refuse("command %q", name)
		return c
	}
	words[0] = call(path.Base(name)).Args[0]
	args := r.arguments(name, b, words[1:])
	if r.err == nil && b.rewrite != nil {
		return b.rewrite(r, c, args)
	}
	return c
}

// arguments checks the words that begin with a dash against the known options, and returns all words. Those that are
// still to be expanded are empty.
func (r *reading) arguments(name string, b *builtin, words []*syntax.Word) []string {
	args := make([]string, len(words))
	for i, w := range words {
		text, ok := literal(w)
		if ok {
			args[i] = text
		} else if text = strings.TrimLeft(r.source(w), `"'\`); b.literal {
			r.refuse("%s of something expanded", name)
		}
		option, dash := strings.CutPrefix(text, "-")
		if b.options == anyWord || !dash || text == "-" && b.literal {
			continue
		}
		if !ok || option == "" || strings.Trim(option, b.options) != "" {
			r.refuse("%s %s", name, text)
		}
	}
	if b.check != nil && !b.check(args) {
		r.refuse("%s %s", name, strings.Join(args, " "))
	}
	return args
}

// literal returns a word's text. ok is false if something in it is to be expanded.
func literal(w *syntax.Word) (text string, ok bool) {
	ok = true
	syntax.Walk(w, func(n syntax.Node) bool {
		switch n.(type) {
		case *syntax.ParamExp, *syntax.CmdSubst, *syntax.ArithmExp:
			ok = false
		}
		return ok
	})
	if !ok {
		return "", false
	}
	text, err := expand.Literal(nil, w)
	return text, err == nil
}

func (r *reading) words(all []*syntax.Word) {
	for _, w := range all {
		r.word(w)
		if syntax.SplitBraces(w) {
			r.refuse("braces and backslashes")
		}
	}
}

// unquoted are the characters that are special outside of quotes: those of patterns, ~ and those of unsupported
// expansions.
const unquoted = "*?[]~$`"

// word checks the parts of a word.
func (r *reading) word(w *syntax.Word) {
	if text := w.Lit(); text != "[" && text != "]" {
		r.parts(w.Parts, unquoted)
	}
}

// parts checks the parts of a word, inside or outside of double quotes. special are the characters that would be
// special there.
func (r *reading) parts(parts []syntax.WordPart, special string) {
	for i, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if !plain(p.Value, special) {
				r.unknown(p)
			} else if special == unquoted && strings.Contains(p.Value, "{") && !strings.Contains(p.Value, `\`) {
				parts[i] = &syntax.SglQuoted{Left: p.Pos(), Right: p.ValueEnd, Value: p.Value} // {a,b} is only special in bash
			}
		case *syntax.SglQuoted:
		case *syntax.DblQuoted:
			r.parts(p.Parts, "$`")
		case *syntax.ParamExp:
			r.variable(p)
		case *syntax.CmdSubst:
			r.substitution(p)
		case *syntax.ArithmExp:
			r.sum(p.X)
		default:
			r.unknown(p)
		}
	}
}

// plain reports whether each special character in a text has a backslash.
func plain(text, special string) bool {
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' {
			i++
		} else if strings.IndexByte(special, text[i]) >= 0 {
			return false
		}
		if i == len(text) {
			return false
		}
	}
	return true
}

// variable accepts $NAME and ${NAME}.
func (r *reading) variable(p *syntax.ParamExp) {
	if p.Param == nil || !syntax.ValidName(p.Param.Value) || !slices.Contains([]string{"$" + p.Param.Value, "${" + p.Param.Value + "}"}, r.source(p)) {
		r.unknown(p)
	}
}

func (r *reading) substitution(p *syntax.CmdSubst) {
	if p.Backquotes {
		r.unknown(p)
	}
	outer := r.substituted
	r.substituted = true
	p.Stmts = r.list(p.Stmts)
	r.substituted = outer
}

// sum accepts one value in $((...)), or two with an operator between. It refuses a sum that could divide by zero: the
// interpreter would go on after it.
func (r *reading) sum(x syntax.ArithmExpr) {
	b, two := x.(*syntax.BinaryArithm)
	if !two {
		r.operand(x)
		return
	}
	r.operand(b.X)
	r.operand(b.Y)
	switch b.Op {
	case syntax.Add, syntax.Sub, syntax.Mul:
	case syntax.Quo, syntax.Rem:
		if n, err := strconv.Atoi(r.source(b.Y)); err != nil || n == 0 {
			r.unknown(b)
		}
	default:
		r.unknown(b)
	}
}

// operand accepts a number or the name of a variable, with or without its $.
func (r *reading) operand(x syntax.ArithmExpr) {
	w, ok := x.(*syntax.Word)
	if !ok || len(w.Parts) != 1 {
		r.unknown(x)
		return
	}
	switch p := w.Parts[0].(type) {
	case *syntax.ParamExp:
		r.variable(p)
	case *syntax.Lit:
		if _, err := strconv.Atoi(p.Value); err != nil && !syntax.ValidName(p.Value) {
			r.unknown(x)
		}
	default:
		r.unknown(x)
	}
}

// exported returns for "export NAME=VALUE" the command that bash's parser returns.
func exported(_ *reading, c *syntax.CallExpr, _ []string) syntax.Command {
	d := &syntax.DeclClause{Variant: &syntax.Lit{Value: "export"}}
	for _, w := range c.Args[1:] {
		d.Args = append(d.Args, &syntax.Assign{Naked: true, Value: w})
	}
	return d
}

// trapped parses a trap's text along with the program, so that nothing unknown comes up later. It returns a function
// of the text for each signal. The function's argument is the exit code that it returns.
func trapped(r *reading, c *syntax.CallExpr, args []string) syntax.Command {
	if r.substituted {
		r.refuse("trap in $(...)")
	}
	if args[0] == "-" || r.err != nil {
		return c
	}
	body, err := r.program.parse(args[0], r.depth)
	if err != nil {
		r.err = err
		return c
	}
	code := &syntax.Word{Parts: []syntax.WordPart{&syntax.ParamExp{Short: true, Param: &syntax.Lit{Value: "1"}}}}
	last := call("status")
	last.Args = append(last.Args, code)
	body = append(body, &syntax.Stmt{Cmd: last})
	var all []*syntax.Stmt
	for _, s := range args[1:] {
		all = append(all, &syntax.Stmt{Cmd: &syntax.FuncDecl{Name: &syntax.Lit{Value: onSignal(s)}, Body: block(body...)}})
	}
	return block(append(all, &syntax.Stmt{Cmd: c})...).Cmd
}

// inShell refuses a command inside of $(...): it is meant for the shell itself.
func inShell(r *reading, c *syntax.CallExpr, _ []string) syntax.Command {
	if r.substituted {
		r.unknown(c)
	}
	return c
}
