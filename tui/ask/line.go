package ask

import (
	"unicode"

	tea "charm.land/bubbletea/v2"
)

// Line is a line of text that is being edited.
type Line struct {
	runes []rune
	at    int
}

// NewLine is a line with a text, at its end.
func NewLine(s string) Line { r := []rune(s); return Line{r, len(r)} }

func (l *Line) String() string { return string(l.runes) }

// Cursor is before which letter the next one goes.
func (l *Line) Cursor() int { return l.at }

// Set puts another text in its place.
func (l *Line) Set(s string) { *l = NewLine(s) }

// Insert puts text at the cursor. Control characters have no place in a line.
func (l *Line) Insert(s string) {
	var add []rune
	for _, r := range s {
		if unicode.IsPrint(r) {
			add = append(add, r)
		}
	}
	l.runes = append(l.runes[:l.at:l.at], append(add, l.runes[l.at:]...)...)
	l.at += len(add)
}

func (l *Line) remove(from, to int) {
	from, to = max(from, 0), min(to, len(l.runes))
	l.runes = append(l.runes[:from:from], l.runes[to:]...)
	l.at = from
}

// Edit does what a key does to a line; false if it does nothing to lines.
func (l *Line) Edit(k tea.KeyPressMsg) bool {
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
		l.Insert(k.Key().Text)
	}
	return true
}

func (l *Line) wordStart() int {
	i := l.at
	for i > 0 && l.runes[i-1] == ' ' {
		i--
	}
	for i > 0 && l.runes[i-1] != ' ' {
		i--
	}
	return i
}
