package ask

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/view"
)

// Page is text to read.
type Page struct {
	Title string
	Lines []string

	from int
	// typing is the line in which a text to find is typed, nil if none is typed. found is the text that is looked
	// for, in lower case.
	typing *Line
	found  string
	match  int // the line that was found last
	// wrapped are the lines as they were last drawn, and rows is how many of them fitted.
	wrapped []string
	rows    int
}

// Key takes a key.
func (p *Page) Key(k tea.KeyPressMsg) (tea.Cmd, bool) {
	if p.typing != nil {
		p.typed(k)
		return nil, false
	}
	half := max(1, p.rows/2)
	switch k.String() {
	case "/", "ctrl+f":
		line := NewLine("")
		p.typing = &line
		return nil, false
	case "n":
		p.findLine(p.matched()+1, 1)
	case "N":
		p.findLine(p.matched()-1, -1)
	case "up", "k":
		p.from--
	case "down", "j":
		p.from++
	case "pgup", "ctrl+u":
		p.from -= half
	case "pgdown", "ctrl+d", "space":
		p.from += half
	case "home", "g":
		p.from = 0
	case "end", "G":
		p.from = len(p.wrapped)
	case "esc":
		if p.found == "" {
			return nil, true
		}
		p.found = ""
	case "q", "enter", "h", "left", "w":
		return nil, true
	}
	p.from = max(0, min(p.from, len(p.wrapped)-p.rows))
	return nil, false
}

// Typing reports whether a text to find is being typed. The page takes all keys then.
func (p *Page) Typing() bool { return p.typing != nil }

// typed takes a key of the text to find. The page goes to a match with each key.
func (p *Page) typed(k tea.KeyPressMsg) {
	switch k.String() {
	case "esc":
		p.typing, p.found = nil, ""
	case "enter":
		p.typing = nil
	default:
		if p.typing.Edit(k) {
			p.found = strings.ToLower(strings.TrimSpace(p.typing.String()))
			p.findLine(p.from, 1)
		}
	}
}

// Paste adds pasted text to the text to find, while that is being typed.
func (p *Page) Paste(s string) {
	if p.typing != nil {
		p.typing.Insert(s)
		p.found = strings.ToLower(strings.TrimSpace(p.typing.String()))
		p.findLine(p.from, 1)
	}
}

// matched returns the line that was found last, if it is still seen, else the first line that is seen.
func (p *Page) matched() int {
	if p.match >= p.from && p.match < p.from+p.rows {
		return p.match
	}
	return p.from
}

// findLine scrolls to the next line with the text, from a line on, and round.
func (p *Page) findLine(from, dir int) {
	n := len(p.wrapped)
	for i := 0; i < n && p.found != ""; i++ {
		at := ((from+i*dir)%n + n) % n
		if strings.Contains(strings.ToLower(p.wrapped[at]), p.found) {
			p.from, p.match = at, at
			return
		}
	}
}

// Overlay returns the visible part of the page.
func (p *Page) Overlay(s *view.Styles) *screen.Overlay {
	p.wrapped = view.OverText(p.Lines, s)
	p.rows = view.OverRows(screen.OverPage, s)
	p.from = max(0, min(p.from, len(p.wrapped)-p.rows))
	shown := p.wrapped[p.from:min(len(p.wrapped), p.from+p.rows)]
	o := &screen.Overlay{Kind: screen.OverPage, Title: p.Title, Text: shown, Top: p.from, Total: len(p.wrapped), Found: p.found}
	for _, l := range p.wrapped {
		if p.found != "" && strings.Contains(strings.ToLower(l), p.found) {
			o.Matches++
		}
	}
	if p.typing != nil {
		o.Input = &screen.Input{Prompt: "/", Text: p.typing.String(), Cursor: p.typing.at}
	}
	return o
}

// Move scrolls down by some lines, for the wheel.
func (p *Page) Move(by int) { p.from += by }

// Paragraphs splits a text into lines, one for each paragraph.
func Paragraphs(s string) []string { return strings.Split(strings.TrimSpace(s), "\n") }
