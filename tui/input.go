package tui

import (
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/tui/screen"
)

// line is a line of text that is being edited.
type line struct {
	runes []rune
	at    int
}

func newLine(s string) line { r := []rune(s); return line{r, len(r)} }

func (l *line) String() string { return string(l.runes) }

func (l *line) set(s string) { *l = newLine(s) }

// insert puts text at the cursor. Control characters have no place in a line.
func (l *line) insert(s string) {
	var add []rune
	for _, r := range s {
		if unicode.IsPrint(r) {
			add = append(add, r)
		}
	}
	l.runes = append(l.runes[:l.at:l.at], append(add, l.runes[l.at:]...)...)
	l.at += len(add)
}

func (l *line) remove(from, to int) {
	from, to = max(from, 0), min(to, len(l.runes))
	l.runes = append(l.runes[:from:from], l.runes[to:]...)
	l.at = from
}

// edit does what a key does to a line; false if it does nothing to lines.
func (l *line) edit(k tea.KeyPressMsg) bool {
	switch k.String() {
	case "left", "ctrl+b":
		l.at = max(l.at-1, 0)
	case "right", "ctrl+f":
		l.at = min(l.at+1, len(l.runes))
	case "home", "ctrl+a":
		l.at = 0
	case "end", "ctrl+e":
		l.at = len(l.runes)
	case "backspace", "ctrl+h":
		l.remove(l.at-1, l.at)
	case "delete":
		l.remove(l.at, l.at+1)
	case "ctrl+u":
		l.remove(0, l.at)
	case "ctrl+k":
		l.remove(l.at, len(l.runes))
	case "ctrl+w":
		l.remove(l.wordStart(), l.at)
	default:
		if k.Key().Text == "" {
			return false
		}
		l.insert(k.Key().Text)
	}
	return true
}

func (l *line) wordStart() int {
	i := l.at
	for i > 0 && l.runes[i-1] == ' ' {
		i--
	}
	for i > 0 && l.runes[i-1] != ' ' {
		i--
	}
	return i
}

// input is a line that is typed at the foot of the screen.
type input struct {
	line
	prompt, help string
	was          string
	err          string
	// complete gives what the text may be meant to become.
	complete func(*Model, string) []string
	// offers are the completions that Tab goes round, nil until it is pressed.
	offers []string
	offer  int
	done   func(*Model, string) (tea.Cmd, error)
	// typed is called with every change, left that it was given up.
	typed func(*Model, string) error
	left  func(*Model, string)
}

func newInput(prompt, was string, complete func(*Model, string) []string, done func(*Model, string) (tea.Cmd, error)) *input {
	return &input{prompt: prompt, line: newLine(was), was: was, complete: complete, done: done}
}

func (in *input) key(m *Model, k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "esc":
		m.input = nil
		if in.left != nil {
			in.left(m, in.was)
		}
		return nil
	case "enter":
		cmd, err := in.done(m, strings.TrimSpace(in.String()))
		if err != nil {
			in.err = err.Error()
			return nil
		}
		m.input = nil
		return cmd
	case "tab", "shift+tab":
		in.tab(m, k.String() == "tab")
		return nil
	}
	if in.edit(k) {
		in.changed(m)
	}
	return nil
}

func (in *input) paste(m *Model, s string) {
	in.insert(s)
	in.changed(m)
}

func (in *input) changed(m *Model) {
	in.offers, in.err = nil, ""
	if in.typed == nil {
		return
	}
	if err := in.typed(m, in.String()); err != nil {
		in.err = err.Error()
	}
}

// tab puts in the next completion.
func (in *input) tab(m *Model, forth bool) {
	if in.complete == nil {
		return
	}
	if in.offers == nil {
		in.offers, in.offer = in.complete(m, in.String()), -1
		if !forth {
			in.offer = 0
		}
	}
	if len(in.offers) == 0 {
		return
	}
	if forth {
		in.offer = (in.offer + 1) % len(in.offers)
	} else {
		in.offer = (in.offer + len(in.offers) - 1) % len(in.offers)
	}
	offers, offer := in.offers, in.offer
	in.set(offers[offer])
	in.changed(m)
	in.offers, in.offer = offers, offer
}

// shownOffers is how many completions are shown at once.
const shownOffers = 5

// draw is the line as the screen shows it.
func (in *input) draw(m *Model) *screen.Input {
	out := &screen.Input{Prompt: in.prompt, Text: in.String(), Cursor: in.at, Error: in.err, Help: in.help}
	offers := in.offers
	if offers == nil && in.complete != nil {
		offers = in.complete(m, in.String())
	}
	if len(offers) > 0 {
		shown := offers[:min(len(offers), shownOffers)]
		out.Help = keyName("tab") + ": " + strings.Join(shown, "  ")
		if len(offers) > shownOffers {
			out.Help += " …"
		}
	}
	return out
}
