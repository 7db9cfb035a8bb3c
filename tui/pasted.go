package tui

import (
	"bytes"
	"io"
	"os"
	"time"
	"unicode"
	"unicode/utf8"
)

// The sequences between which a terminal sends what is pasted.
const pasteBegins, pasteEnds = "\x1b[200~", "\x1b[201~"

// pasteHangs is how long a paste may send nothing before Ctrl+C ends it.
const pasteHangs = time.Second

// pasteGuard is a terminal's input. In what is pasted it replaces control characters by spaces, one for one. Bubble Tea
// looks for the end of a paste by reading all of it as keys: the beginning of a terminal's sequence in it would take the
// end of the paste, and all keys after it.
type pasteGuard struct {
	*os.File
	clean pasteCleaner
	last  time.Time // when something was read last
}

func newPasteGuard(f *os.File) *pasteGuard { return &pasteGuard{File: f} }

// Read returns what the terminal has sent. It returns no bytes, and no error, if all that has come may be the beginning
// of something longer.
func (g *pasteGuard) Read(p []byte) (int, error) {
	room := len(p) - maxHeld - len(pasteEnds)
	if room <= 0 {
		return 0, io.ErrShortBuffer
	}
	n, err := g.File.Read(p[:room])
	in := bytes.Clone(p[:n])
	var out []byte
	now := time.Now()
	if g.clean.pasting && now.Sub(g.last) >= pasteHangs && bytes.HasPrefix(in, []byte("\x03")) {
		out = g.clean.end()
	}
	g.last = now
	return copy(p, append(out, g.clean.next(in)...)), err
}

// maxHeld is how many bytes a cleaner may hold back: the beginning of the sequence that ends a paste, or of a character.
const maxHeld = max(len(pasteEnds), utf8.UTFMax)

// pasteCleaner replaces control characters in pastes, in a stream that comes in pieces.
type pasteCleaner struct {
	pasting bool
	begun   int    // outside of a paste: how many bytes of pasteBegins have come
	held    []byte // in a paste: what is not decided yet
}

// next takes the next bytes of the stream, and returns those that can be passed on.
func (c *pasteCleaner) next(in []byte) (out []byte) {
	for _, b := range in {
		if !c.pasting {
			out = append(out, b)
			c.outside(b)
			continue
		}
		c.held = append(c.held, b)
		out = append(out, c.decide()...)
	}
	return out
}

// outside looks for the beginning of a paste.
func (c *pasteCleaner) outside(b byte) {
	switch {
	case b == pasteBegins[c.begun]:
		c.begun++
	case b == pasteBegins[0]:
		c.begun = 1
	default:
		c.begun = 0
	}
	if c.begun == len(pasteBegins) {
		c.begun, c.pasting = 0, true
	}
}

// decide returns as many of the held bytes as are decided.
func (c *pasteCleaner) decide() (out []byte) {
	for len(c.held) > 0 {
		switch {
		case string(c.held) == pasteEnds:
			out = append(out, pasteEnds...)
			c.held, c.pasting = nil, false
			return out
		case len(c.held) < len(pasteEnds) && pasteEnds[:len(c.held)] == string(c.held):
			return out
		case !utf8.FullRune(c.held):
			return out
		}
		r, size := utf8.DecodeRune(c.held)
		if r == utf8.RuneError && size == 1 || unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\r' {
			out = append(out, bytes.Repeat([]byte{' '}, size)...)
		} else {
			out = append(out, c.held[:size]...)
		}
		c.held = c.held[size:]
	}
	return out
}

// end ends a paste whose end has not come.
func (c *pasteCleaner) end() []byte {
	out := bytes.Repeat([]byte{' '}, len(c.held))
	c.held, c.pasting = nil, false
	return append(out, pasteEnds...)
}
