package ash

import "strings"

func (p *parser) loop(until bool) (node, error) {
	cond, err := p.list()
	if err != nil {
		return nil, err
	}
	body, err := p.doBlock()
	return loop{cond, body, until}, err
}

func (p *parser) doBlock() (node, error) {
	if err := p.take("do"); err != nil {
		return nil, err
	}
	body, err := p.list()
	if err != nil {
		return nil, err
	}
	return body, p.take("done")
}

// branch reads what follows if or elif.
func (p *parser) branch() (node, error) {
	cond, err := p.list()
	if err != nil {
		return nil, err
	}
	if err := p.take("then"); err != nil {
		return nil, err
	}
	then, err := p.list()
	if err != nil {
		return nil, err
	}
	b := branch{cond, then, sequence(nil)}
	switch p.keyword() {
	case "elif":
		p.tokens = p.tokens[1:]
		b.otherwise, err = p.branch()
		return b, err
	case "else":
		p.tokens = p.tokens[1:]
		if b.otherwise, err = p.list(); err != nil {
			return nil, err
		}
	}
	return b, p.take("fi")
}

func (p *parser) each() (node, error) {
	name, ok := p.literal()
	if in, isIn := p.literal(); !ok || !isIn || in != "in" || !strings.ContainsFunc(name, isName) {
		return nil, p.unexpected()
	}
	var words []word
	for !p.end() && p.tokens[0].op == "" {
		words = append(words, p.tokens[0].word)
		p.tokens = p.tokens[1:]
	}
	if _, ok := p.op(";", "\n"); !ok {
		return nil, p.unexpected()
	}
	for _, nl := p.op("\n"); nl; _, nl = p.op("\n") {
	}
	body, err := p.doBlock()
	return each{name, words, body}, err
}

// literal takes a word that holds nothing to expand.
func (p *parser) literal() (string, bool) {
	if p.end() || p.tokens[0].op != "" {
		return "", false
	}
	text, ok := p.tokens[0].word.literal()
	if ok {
		p.tokens = p.tokens[1:]
	}
	return text, ok
}
