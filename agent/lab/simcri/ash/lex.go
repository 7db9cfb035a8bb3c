package ash

import (
	"fmt"
	"strings"
)

// token is an operator or a word.
type token struct {
	op    string
	redir *redir // for op "redir": where to, the target is the next word
	word  word
}

func (t token) String() string {
	if t.op != "" {
		return t.op
	}
	text, _ := t.word.literal()
	return text
}

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

// pattern tells whether the shell would look for files that match [...].
func (w word) pattern() bool {
	for _, p := range w {
		if p.plain() && strings.ContainsAny(p.text, "[]") && (len(w) > 1 || len(p.text) > 1) {
			return true
		}
	}
	return false
}

func isName(r rune) bool {
	return r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

func isIdentifier(s string) bool {
	return s != "" && !(s[0] >= '0' && s[0] <= '9') && strings.IndexFunc(s, func(r rune) bool { return !isName(r) }) < 0
}

// lexer cuts a text into tokens.
type lexer struct {
	text  string
	at    int
	depth int
	out   []token
	word  word
	open  bool // a word has begun, if only by a quote
}

func lex(text string, depth int) ([]token, error) {
	l := &lexer{text: text, depth: depth}
	for l.at < len(l.text) {
		if err := l.next(); err != nil {
			return nil, err
		}
	}
	l.flush()
	return l.out, nil
}

func (l *lexer) flush() {
	if l.open {
		l.out = append(l.out, token{word: l.word})
	}
	l.word, l.open = nil, false
}

func (l *lexer) rest() string { return l.text[l.at:] }

func (l *lexer) add(p part) {
	l.open = true
	if n := len(l.word); n > 0 && p.plain() && l.word[n-1].plain() {
		l.word[n-1].text += p.text
		return
	}
	l.word = append(l.word, p)
}

// next takes one character, quote, expansion or operator.
func (l *lexer) next() error {
	switch c := l.text[l.at]; c {
	case ' ', '\t', '\r':
		l.at++
		l.flush()
	case '#':
		if l.open {
			l.at++
			l.add(part{text: "#"})
			break
		}
		if i := strings.IndexByte(l.rest(), '\n'); i >= 0 {
			l.at += i
		} else {
			l.at = len(l.text)
		}
	case '\n', ';', '&', '|':
		return l.operator()
	case '>', '<':
		return l.redirect()
	case '\\':
		return l.escape()
	case '\'':
		end := strings.IndexByte(l.text[l.at+1:], '\'')
		if end < 0 {
			return fmt.Errorf("%w: an open quote", ErrUnknown)
		}
		l.add(part{text: l.text[l.at+1 : l.at+1+end], quoted: true})
		l.at += end + 2
	case '"':
		return l.doubleQuoted()
	case '$':
		return l.expansion(false)
	case '(', ')', '`', '*', '?', '~':
		return fmt.Errorf("%w: %q", ErrUnknown, c)
	default:
		l.add(part{text: l.text[l.at : l.at+1]})
		l.at++
	}
	return nil
}

func (l *lexer) escape() error {
	if l.at+1 >= len(l.text) {
		return fmt.Errorf("%w: an escape at the end", ErrUnknown)
	}
	if l.text[l.at+1] != '\n' { // an escaped line end is nothing at all
		l.add(part{text: l.text[l.at+1 : l.at+2], quoted: true})
	}
	l.at += 2
	return nil
}

func (l *lexer) operator() error {
	l.flush()
	op := l.text[l.at : l.at+1]
	if r := l.rest(); strings.HasPrefix(r, "&&") || strings.HasPrefix(r, "||") {
		op = r[:2]
	} else if op == "|" || strings.HasPrefix(r, ";;") || strings.HasPrefix(r, "&>") {
		return fmt.Errorf("%w: %q", ErrUnknown, op)
	}
	l.at += len(op)
	l.out = append(l.out, token{op: op})
	return nil
}

// redirect takes >, >>, <, 2>, >&2 and their like.
func (l *lexer) redirect() error {
	r := redir{fd: 1, toFD: -1, input: l.text[l.at] == '<'}
	if fd, ok := l.word.literal(); ok && l.open && (fd == "1" || fd == "2") && l.word[0].plain() && !r.input {
		r.fd = int(fd[0] - '0')
		l.word, l.open = nil, false
	}
	l.flush()
	l.at++
	rest := l.rest()
	switch {
	case r.input:
		if strings.HasPrefix(rest, "<") || strings.HasPrefix(rest, "&") || strings.HasPrefix(rest, ">") {
			return fmt.Errorf("%w: this redirection", ErrUnknown)
		}
	case strings.HasPrefix(rest, ">"):
		r.appending = true
		l.at++
	case strings.HasPrefix(rest, "&1"), strings.HasPrefix(rest, "&2"):
		r.toFD = int(rest[1] - '0')
		l.at += 2
	case strings.HasPrefix(rest, "&"), strings.HasPrefix(rest, "|"):
		return fmt.Errorf("%w: this redirection", ErrUnknown)
	}
	l.out = append(l.out, token{op: "redir", redir: &r})
	return nil
}

func (l *lexer) doubleQuoted() error {
	l.at++
	l.open = true
	l.word = append(l.word, part{quoted: true}) // "" is a word
	for l.at < len(l.text) {
		switch c := l.text[l.at]; {
		case c == '"':
			l.at++
			return nil
		case c == '`':
			return fmt.Errorf("%w: %q", ErrUnknown, c)
		case c == '$':
			if err := l.expansion(true); err != nil {
				return err
			}
		case c == '\\' && l.at+1 < len(l.text) && strings.IndexByte("\"\\$`\n", l.text[l.at+1]) >= 0:
			if err := l.escape(); err != nil {
				return err
			}
		default:
			end := strings.IndexAny(l.text[l.at+1:], "\"`$\\") + 1
			if end == 0 {
				end = len(l.text) - l.at
			}
			l.add(part{text: l.text[l.at : l.at+end], quoted: true})
			l.at += end
		}
	}
	return fmt.Errorf("%w: an open quote", ErrUnknown)
}

// expansion takes $NAME, ${NAME}, $(list) and $((sum)).
func (l *lexer) expansion(quoted bool) error {
	rest := l.text[l.at+1:]
	switch {
	case strings.HasPrefix(rest, "(("):
		end := strings.Index(rest, "))")
		if end < 0 {
			return fmt.Errorf("%w: an open sum", ErrUnknown)
		}
		s, err := parseSum(rest[2:end])
		if err != nil {
			return err
		}
		l.add(part{sum: s, quoted: quoted})
		l.at += 1 + end + 2
	case strings.HasPrefix(rest, "("):
		end := strings.IndexByte(rest, ')')
		if end < 0 || strings.ContainsAny(rest[1:end], "(\"'\\") {
			return fmt.Errorf("%w: this substitution", ErrUnknown)
		}
		body, err := parseList(rest[1:end], l.depth+1)
		if err != nil {
			return err
		}
		l.add(part{output: body, quoted: quoted})
		l.at += 1 + end + 1
	default:
		return l.variable(rest, quoted)
	}
	return nil
}

func (l *lexer) variable(rest string, quoted bool) error {
	braced := strings.HasPrefix(rest, "{")
	name := strings.TrimPrefix(rest, "{")
	if i := strings.IndexFunc(name, func(r rune) bool { return !isName(r) }); i >= 0 {
		if braced && name[i] != '}' {
			return fmt.Errorf("%w: this expansion", ErrUnknown)
		}
		name = name[:i]
	} else if braced {
		return fmt.Errorf("%w: an open brace", ErrUnknown)
	}
	if !isIdentifier(name) {
		return fmt.Errorf("%w: this expansion", ErrUnknown)
	}
	l.add(part{name: name, quoted: quoted})
	l.at += 1 + len(name)
	if braced {
		l.at += 2
	}
	return nil
}
