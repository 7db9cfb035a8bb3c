package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/tui/ask"
)

// readWalk shows what the card says as a page of its own: on a small screen the
// card has room for its beginning only. What the walk is about to apply is
// there too.
func (m *Model) readWalk() tea.Cmd {
	w := m.walk
	c := w.card(m)
	var lines []string
	for _, text := range []string{c.Heading, c.Text, c.Question, c.Answer, c.Wait} {
		if text != "" {
			lines = append(lines, strings.TrimSpace(text), "")
		}
	}
	if w.phase == walkHere {
		if act := w.stops[w.at].Act; act != nil && act.Manifest != "" {
			lines = append(lines, strings.Split(strings.TrimSpace(act.Manifest), "\n")...)
		}
	}
	m.push(&ask.Page{Title: c.Title, Lines: lines})
	return nil
}
