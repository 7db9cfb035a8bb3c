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
	// wrapped are the lines as they were last drawn, rows how many of them fitted.
	wrapped []string
	rows    int
}

// Key takes a key.
func (p *Page) Key(k tea.KeyPressMsg) (tea.Cmd, bool) {
	half := max(1, p.rows/2)
	switch k.String() {
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
	case "esc", "q", "enter", "h", "left", "w":
		return nil, true
	}
	p.from = max(0, min(p.from, len(p.wrapped)-p.rows))
	return nil, false
}

// Overlay is what of the page fits.
func (p *Page) Overlay(s *view.Styles) *screen.Overlay {
	p.wrapped = view.OverText(p.Lines, s)
	p.rows = view.OverRows(screen.OverPage, s)
	p.from = max(0, min(p.from, len(p.wrapped)-p.rows))
	shown := p.wrapped[p.from:min(len(p.wrapped), p.from+p.rows)]
	return &screen.Overlay{Kind: screen.OverPage, Title: p.Title, Text: shown, Top: p.from, Total: len(p.wrapped)}
}

// Move is the wheel: so many lines down.
func (p *Page) Move(by int) { p.from += by }

// Paragraphs takes a text apart into lines, one a paragraph.
func Paragraphs(s string) []string { return strings.Split(strings.TrimSpace(s), "\n") }
