package ash

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// word is parts that are joined when it is expanded.
type word []part

// part is a text, or what stands in its place: a variable, a command's output, a sum.
type part struct {
	text   string
	quoted bool
	name   string // a variable
	output node   // $(...)
	sum    *sum   // $((...))
}

func (p part) plain() bool {
	return p.name == "" && p.output == nil && p.sum == nil && !p.quoted
}

// literal is the word's text if nothing is to be expanded.
func (w word) literal() (string, bool) {
	var b strings.Builder
	for _, p := range w {
		if p.name != "" || p.output != nil || p.sum != nil {
			return "", false
		}
		b.WriteString(p.text)
	}
	return b.String(), true
}

// pattern reports whether the shell would look for files that match [...].
func (w word) pattern() bool {
	for _, p := range w {
		if p.plain() && strings.ContainsAny(p.text, "[]") && (len(w) > 1 || len(p.text) > 1) {
			return true
		}
	}
	return false
}

func (r *reading) words(all []*syntax.Word) (out []word, err error) {
	for _, s := range all {
		w, err := r.word(s)
		if err != nil {
			return nil, err
		}
		out = append(out, w)
	}
	return out, nil
}

func (r *reading) word(s *syntax.Word) (word, error) {
	w, err := r.parts(nil, s.Parts, false)
	if err == nil && w.pattern() {
		err = fmt.Errorf("%w: pattern %q", ErrUnknown, r.source(s))
	}
	return w, err
}

// parts adds what stands inside or outside of double quotes to a word.
func (r *reading) parts(w word, parts []syntax.WordPart, quoted bool) (word, error) {
	for _, s := range parts {
		var err error
		switch s := s.(type) {
		case *syntax.Lit:
			w, err = r.literal(w, s, quoted)
		case *syntax.SglQuoted:
			w = append(w, part{text: s.Value, quoted: true})
		case *syntax.DblQuoted:
			if len(s.Parts) == 0 {
				w = append(w, part{quoted: true}) // "" is a word
			}
			w, err = r.parts(w, s.Parts, true)
		default:
			var p part
			p, err = r.expansion(s)
			p.quoted = quoted
			w = append(w, p)
		}
		if err != nil {
			return nil, err
		}
	}
	return w, nil
}

// literal adds a text to a word, without its escapes.
func (r *reading) literal(w word, s *syntax.Lit, quoted bool) (word, error) {
	special := "*?~$`"
	if quoted {
		special = "$`"
	}
	for rest := s.Value; ; {
		i := strings.IndexByte(rest, '\\')
		end := i
		if i < 0 {
			end = len(rest)
		}
		if strings.ContainsAny(rest[:end], special) {
			return nil, r.unknown(s)
		}
		if end > 0 {
			w = append(w, part{text: rest[:end], quoted: quoted})
		}
		if i < 0 {
			return w, nil
		}
		if rest = rest[i+1:]; rest == "" {
			return nil, r.unknown(s)
		}
		escaped := rest[:1]
		if quoted && !strings.Contains("\"\\$`\n", escaped) {
			escaped = `\` + escaped
		}
		rest = rest[1:]
		if escaped != "\n" { // an escaped line end is nothing at all
			w = append(w, part{text: escaped, quoted: true})
		}
	}
}

// expansion takes $NAME, ${NAME}, $(list) and $((sum)).
func (r *reading) expansion(s syntax.WordPart) (part, error) {
	switch s := s.(type) {
	case *syntax.ParamExp:
		if name, ok := r.variable(s); ok {
			return part{name: name}, nil
		}
	case *syntax.CmdSubst:
		if !s.Backquotes {
			body, err := r.list(s.Stmts)
			return part{output: body}, err
		}
	case *syntax.ArithmExp:
		if sum, ok := r.sum(s.X); ok {
			return part{sum: sum}, nil
		}
	}
	return part{}, r.unknown(s)
}

// variable is the name in $NAME and ${NAME}; ok is false for what does more.
func (r *reading) variable(s *syntax.ParamExp) (name string, ok bool) {
	if s.Param == nil || !syntax.ValidName(s.Param.Value) {
		return "", false
	}
	name = s.Param.Value
	text := r.source(s)
	return name, text == "$"+name || text == "${"+name+"}"
}
