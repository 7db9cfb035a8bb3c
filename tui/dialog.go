package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/view"
)

// dialog asks something that is answered by a button. The first button is the
// one that changes nothing, and the one that is chosen at the start.
type dialog struct {
	title   string
	text    []string
	buttons []string
	danger  bool
	chosen  int
	// yesNo: y and n answer as well.
	yesNo bool
	// chose is called with which button was pressed; 0 for Esc.
	chose func(m *Model, button int) tea.Cmd
}

func (d *dialog) key(m *Model, k tea.KeyPressMsg) (tea.Cmd, bool) {
	switch k.String() {
	case "left", "h", "shift+tab", "up", "k":
		d.chosen = (d.chosen + len(d.buttons) - 1) % len(d.buttons)
	case "right", "l", "tab", "down", "j":
		d.chosen = (d.chosen + 1) % len(d.buttons)
	case "enter", "space":
		return d.chose(m, d.chosen), true
	case "esc", "q":
		return d.chose(m, 0), true
	case "y", "Y", "n", "N":
		if d.yesNo {
			return d.chose(m, len(d.buttons)-1-strings.IndexAny("yn", strings.ToLower(k.String()))), true
		}
	}
	return nil, false
}

func (d *dialog) overlay(*Model) *screen.Overlay {
	return &screen.Overlay{Kind: screen.OverDialog, Title: d.title, Text: d.text, Buttons: d.buttons, Cursor: d.chosen, Danger: d.danger}
}

// press is a click on a button.
func (d *dialog) press(m *Model, button int) (tea.Cmd, bool) {
	if !inRange(button, len(d.buttons)) {
		return nil, false
	}
	return d.chose(m, button), true
}

// page is text to read.
type page struct {
	title string
	lines []string
	from  int
	// wrapped are the lines as they were last drawn, rows how many of them fitted.
	wrapped []string
	rows    int
}

func (p *page) key(m *Model, k tea.KeyPressMsg) (tea.Cmd, bool) {
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

func (p *page) overlay(m *Model) *screen.Overlay {
	p.wrapped = view.OverText(p.lines, m.frame.styles)
	p.rows = view.OverRows(screen.OverPage, m.frame.styles)
	p.from = max(0, min(p.from, len(p.wrapped)-p.rows))
	shown := p.wrapped[p.from:min(len(p.wrapped), p.from+p.rows)]
	return &screen.Overlay{Kind: screen.OverPage, Title: p.title, Text: shown, Top: p.from, Total: len(p.wrapped)}
}

// paragraphs takes a text apart into lines, one a paragraph.
func paragraphs(s string) []string { return strings.Split(strings.TrimSpace(s), "\n") }
