package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/podstep/podstep/probes/words"
)

// level is a list or an object that is too large for one page: its members are on several. A page has it once, with
// those of its members that are on this page.
type level struct {
	key  string // in the object that it is in, quoted; empty: it is in a list, or the outermost
	list bool
	// head are short members of an object, encoded. They stand on each page, so that one knows what the others are of.
	head []byte
}

// brackets are the bytes that a level takes on a page, besides its members.
func (l *level) size() int { return len(l.key) + len(`:{},`) + len(l.head) }

// piece is a value that is on one page as a whole.
type piece struct {
	in  []*level // from the outermost
	key string   // in its object, quoted; empty: it is in a list
	raw []byte
	// breaks: the piece is the rest of a text that began on the page before.
	breaks bool
}

func (p *piece) size() int { return len(p.key) + len(`:,`) + len(p.raw) }

// The heads of levels are short, so that the members have room; in bytes.
const (
	headMember = 120
	headSize   = 360
	headLevels = 4 // only so many of the outermost levels have one
	// least is the room below which a value is left out, with a word about it, and maxLevels is the number of levels
	// from which on it is. No answer of podstep's own has as many.
	least     = 200
	maxLevels = 40
	// maxKey bounds the name of a member.
	maxKey = 100
)

// splitter divides a document into pieces.
type splitter struct {
	most   int // bytes of a page
	pieces []piece
}

// open divides the members of a value that does not fit on a page.
func (s *splitter) open(raw []byte, in []*level) error {
	here := in[len(in)-1]
	members, err := membersOf(raw)
	if err != nil {
		return err
	}
	if !here.list && len(in) <= headLevels {
		members = here.takeHead(members)
	}
	left := s.most
	for _, l := range in {
		left -= l.size()
	}
	for _, m := range members {
		m.key = shortKey(m.key)
		if err := s.add(m, in, left-len(m.key)-len(`:,`)); err != nil {
			return err
		}
	}
	return nil
}

// add adds a member, whole if it fits into left bytes.
func (s *splitter) add(m member, in []*level, left int) error {
	p := piece{in: in, key: m.key, raw: m.raw}
	switch first := m.raw[0]; {
	case len(m.raw) <= left:
		s.pieces = append(s.pieces, p)
		return nil
	case left < least || len(in) > maxLevels || first != '{' && first != '[' && first != '"':
		p.raw = encoded(fmt.Sprintf("left out: %d bytes, for which no page has room", len(m.raw)))
		s.pieces = append(s.pieces, p)
		return nil
	case first == '"':
		return s.addText(p, left)
	}
	return s.open(m.raw, append(in[:len(in):len(in)], &level{key: m.key, list: m.raw[0] == '['}))
}

// goesOn marks a text that goes on on the next page, and its rest there.
const goesOn = "…"

// addText adds a text that does not fit on a page, in parts on one page each.
func (s *splitter) addText(p piece, left int) error {
	var text string
	if err := json.Unmarshal(p.raw, &text); err != nil {
		return fmt.Errorf("divide answer: %w", err)
	}
	for begin := ""; text != ""; begin, p.breaks = goesOn, true {
		n := fitting(text, left-2*len(goesOn)-len(`""`))
		part := begin + text[:n]
		if text = text[n:]; text != "" {
			part += goesOn
		}
		p.raw = encoded(part)
		s.pieces = append(s.pieces, p)
	}
	return nil
}

// fitting returns how many bytes of a text take at most so many encoded, and at least those of one letter.
func fitting(text string, most int) int {
	size := 0
	for i, r := range text {
		one := len(encoded(string(r))) - len(`""`)
		if size+one > most && i > 0 {
			return i
		}
		size += one
	}
	return len(text)
}

// member is a value in an object or, with an empty key, in a list.
type member struct {
	key string // quoted
	raw json.RawMessage
}

// membersOf returns the members of an object or a list, in their order.
func membersOf(raw []byte) (out []member, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	open, err := d.Token()
	for err == nil && d.More() {
		var m member
		if open == json.Delim('{') {
			var name json.Token
			if name, err = d.Token(); err != nil {
				break
			}
			key, _ := name.(string)
			m.key = string(encoded(key))
		}
		if err = d.Decode(&m.raw); err == nil {
			out = append(out, m)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("divide answer: %w", err)
	}
	return out, nil
}

// shortKey cuts the name of a member, quoted, that would take a page.
func shortKey(key string) string {
	var name string
	if len(key) <= maxKey || json.Unmarshal([]byte(key), &name) != nil {
		return key
	}
	return string(encoded(name[:fitting(name, maxKey)] + goesOn))
}

// takeHead makes the head of a level of its short members, and returns the others. What could not be seen comes first
// among these: it belongs beside the beginning of an answer.
func (l *level) takeHead(members []member) (others []member) {
	var late []member
	for _, m := range members {
		scalar := m.raw[0] != '{' && m.raw[0] != '['
		switch size := len(m.key) + len(`:,`) + len(m.raw); {
		case scalar && size <= headMember && len(l.head)+size <= headSize:
			l.head = append(append(append(append(l.head, m.key...), ':'), m.raw...), ',')
		case m.key == `"`+unseenKey+`"`:
			others = append(others, m)
		default:
			late = append(late, m)
		}
	}
	l.head = bytes.TrimSuffix(l.head, []byte(","))
	return append(others, late...)
}

// unseenKey is the name of the lists of what could not be seen.
const unseenKey = "unseen"

// encoded returns a text as JSON, with the escapes that podstep prints.
func encoded(text string) []byte {
	out, err := words.JSON(text, "")
	if err != nil {
		return []byte(`""`) // a text can always be encoded
	}
	return bytes.TrimSuffix(out, []byte("\n"))
}
