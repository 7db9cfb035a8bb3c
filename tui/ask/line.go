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

// NewLine returns a line with a text, the cursor at its end.
func NewLine(s string) Line { r := []rune(s); return Line{r, len(r)} }

func (l *Line) String() string { return string(l.runes) }

// Cursor returns the cursor's place: the number of letters before it.
func (l *Line) Cursor() int { return l.at }

// Set replaces the text and puts the cursor at its end.
func (l *Line) Set(s string) { *l = NewLine(s) }

// Insert puts text at the cursor. It leaves control characters out.
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

// Edit applies an editing key to the line. It returns false if the key edits nothing.
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
