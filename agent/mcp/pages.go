package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/podstep/podstep/probes/words"
)

// MaxPage is how long one result of a tool is at most, in bytes of JSON.
const MaxPage = 4096

// counters is the room for a page's number, the count of pages, and the cursor.
const counters = 100

// divide returns an object as pages: JSON objects of at most MaxPage-counters bytes, without the braces around them.
// Values are whole. A list is continued on the next page; the short members of the objects that it is in are repeated
// there. Only a text, a number or a name that takes more than a page is not on one page as it is.
func divide(document json.RawMessage) ([][]byte, error) {
	document = bytes.TrimSpace(document)
	most := MaxPage - counters
	if len(document) <= most {
		return [][]byte{document[1 : len(document)-1]}, nil
	}
	s := &splitter{most: most}
	if err := s.open(document, []*level{{}}); err != nil {
		return nil, err
	}
	var pages [][]byte
	var on []piece
	size := 0
	for i, p := range s.pieces {
		cost := p.size() + added(on, &p)
		if len(on) > 0 && (p.breaks || size+cost > most) {
			pages = append(pages, render(on))
			on, size = nil, 0
			cost = p.size() + added(nil, &p)
		}
		on, size = append(on, s.pieces[i]), size+cost
	}
	return append(pages, render(on)), nil
}

// added returns the bytes of the levels that a piece opens on a page.
func added(on []piece, p *piece) (size int) {
	shared := 0
	if len(on) > 0 {
		shared = common(on[len(on)-1].in, p.in)
	}
	for _, l := range p.in[shared:] {
		size += l.size()
	}
	return size
}

// common returns how many of the outermost levels two pieces share.
func common(a, b []*level) (n int) {
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// render writes the pieces of a page, without the outermost braces.
func render(on []piece) []byte {
	var b bytes.Buffer
	var open []*level
	comma := func() {
		if n := b.Len(); n > 0 && b.Bytes()[n-1] != '{' && b.Bytes()[n-1] != '[' {
			b.WriteByte(',')
		}
	}
	member := func(key string) {
		comma()
		if key != "" {
			b.WriteString(key + ":")
		}
	}
	closeTo := func(n int) {
		for len(open) > n {
			if last := open[len(open)-1]; last.list {
				b.WriteByte(']')
			} else {
				b.WriteByte('}')
			}
			open = open[:len(open)-1]
		}
	}
	for _, p := range on {
		in := p.in[1:] // without the outermost
		shared := common(open, in)
		closeTo(shared)
		for _, l := range in[shared:] {
			member(l.key)
			if l.list {
				b.WriteByte('[')
			} else {
				b.WriteByte('{')
			}
			b.Write(l.head)
			open = append(open, l)
		}
		member(p.key)
		b.Write(p.raw)
	}
	closeTo(0)
	if head := on[0].in[0].head; len(head) > 0 {
		return bytes.Join([][]byte{head, b.Bytes()}, []byte(","))
	}
	return b.Bytes()
}

// document encodes an answer as podstep prints JSON.
func document(a *Answer) (json.RawMessage, error) {
	text, err := words.JSON(a, "")
	if err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return bytes.TrimSpace(text), nil
}
