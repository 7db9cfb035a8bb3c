package ask

import (
	"fmt"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/tui/view"
)

// TestPageFinds: a text is found while it is typed. n and N go round, even where the page cannot scroll further. The
// first Esc ends the search.
func TestPageFinds(t *testing.T) {
	st := view.NewStyles(view.Options{Width: 80, Height: 24})
	p := &Page{Title: "a page"}
	for i := range 100 {
		p.Lines = append(p.Lines, fmt.Sprintf("line %d", i))
	}
	press := func(keys ...string) (done bool) {
		t.Helper()
		for _, k := range keys {
			key := tea.KeyPressMsg{Text: k, Code: []rune(k)[0]}
			switch k {
			case "enter":
				key = tea.KeyPressMsg{Code: tea.KeyEnter}
			case "esc":
				key = tea.KeyPressMsg{Code: tea.KeyEscape}
			}
			p.Overlay(st)
			if _, done = p.Key(key); done {
				return true
			}
		}
		return false
	}
	press("/", "9", "8")
	if o := p.Overlay(st); o.Input == nil || o.Input.Text != "98" || o.Matches != 1 || p.match != 98 {
		t.Errorf("%+v at line %d", o, p.match)
	}
	press("esc", "g", "/", "L", "i", "N", "e", " ", "9", "enter")
	for _, want := range []int{90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 9, 90} {
		if press("n"); p.match != want {
			t.Errorf("n leads to line %d, want %d", p.match, want)
		}
	}
	if press("N"); p.match != 9 {
		t.Errorf("N leads to line %d", p.match)
	}
	if press("esc") || p.Overlay(st).Found != "" || !press("esc") {
		t.Error("Esc ends finding, and then the page")
	}
}
