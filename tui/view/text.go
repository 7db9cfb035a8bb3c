package view

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/podstep/podstep/probes/words"
)

// width returns how many cells a text takes.
func width(s string) int {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return ansi.StringWidth(s)
		}
	}
	return len(s)
}

// fit cuts a text to w cells and puts tail where it was cut.
func fit(s string, w int, tail string) string {
	if w <= 0 {
		return ""
	}
	if width(s) <= w {
		return s
	}
	room := w - width(tail)
	if room < 1 {
		tail, room = "", w
	}
	return head(s, room) + tail
}

// nameEnd is the length of the random end that the API server gives the names of a ReplicaSet's pods. Only this end
// tells them apart.
const nameEnd = 5

// fitMiddle cuts a name in its middle. It keeps the name's end as long as there is room for it.
func fitMiddle(s string, w int, tail string) string {
	room := w - width(tail)
	if width(s) <= w || room < nameEnd {
		return fit(s, w, tail)
	}
	back := max(nameEnd, room/3)
	return head(s, w-width(tail)-back) + tail + last(s, back)
}

// ShortName shortens a pod's name to the room that a line of the screen has next to other things.
func ShortName(name string, st *Styles) string {
	return fitMiddle(name, nameRoom(st.Width), st.m.ellipsis)
}

// nameRoom returns how many cells a pod's name gets in a line of some width.
func nameRoom(w int) int { return max(12, min(w/5, 40)) }

// head returns as much of the beginning as takes at most w cells.
func head(s string, w int) string {
	at := 0
	for at < len(s) {
		g, gw := cutFirst(s[at:])
		if w -= gw; w < 0 {
			break
		}
		at += len(g)
	}
	return s[:at]
}

// last returns as much of the end as takes at most w cells.
func last(s string, w int) string {
	drop := width(s) - w
	at := 0
	for at < len(s) && drop > 0 {
		g, gw := cutFirst(s[at:])
		drop -= gw
		at += len(g)
	}
	return s[at:]
}

// notFirst are signs that no line begins with.
const notFirst = "，。、；：！？）」』》】…,.;:!?)]}"

// notLast are signs that no line ends with.
const notLast = "（「『《【“‘([{"

// wrap breaks a text into lines of at most w cells. It breaks at blanks, and between wide characters, which need no
// blanks. It cuts words that are too long.
func wrap(s string, w int) []string {
	if w < 1 {
		return nil
	}
	var lines []string
	for _, paragraph := range strings.Split(s, "\n") {
		lines = append(lines, wrapLine(paragraph, w)...)
	}
	return lines
}

func wrapLine(s string, w int) []string {
	var lines []string
	for width(s) > w {
		cut := breakAt(s, w)
		lines = append(lines, strings.TrimRight(s[:cut], " "))
		if s = strings.TrimLeft(s[cut:], " "); s == "" {
			return lines
		}
	}
	return append(lines, s)
}

// breakAt returns where a line of at most w cells ends.
func breakAt(s string, w int) int {
	full := len(head(s, w))
	best, wide, opened := 0, false, false
	for at := 0; at <= full && at < len(s); {
		g, gw := cutFirst(s[at:])
		switch {
		case g == " ":
			best, wide = at, false
		case at > 0 && (wide || gw == 2) && !opened && !strings.Contains(notFirst, g):
			best = at
		}
		if g != " " {
			wide = gw == 2
		}
		opened = strings.Contains(notLast, g)
		at += len(g)
	}
	if best > 0 {
		return best
	}
	// One long word, such as a path or the name of a method: it is best read in its parts.
	if part := strings.LastIndexAny(s[:full], partEnds) + 1; part > full/2 && part < len(s) {
		return part
	}
	return max(full, len(firstOf(s)))
}

// partEnds are the characters behind which a long word may end on a line.
const partEnds = "/.-_:,"

func firstOf(s string) string {
	g, _ := cutFirst(s)
	return g
}

// sentence splits a text behind its first sentence. In a low pane the rest comes last, so that the source and the
// values can be seen.
func sentence(text string) (string, string) {
	for _, end := range []string{". ", "。"} {
		if at := strings.Index(text, end); at >= 0 {
			at += len(strings.TrimRight(end, " "))
			return text[:at], strings.TrimLeft(text[at:], " ")
		}
	}
	return text, ""
}

// since writes a time since a beginning.
func since(d time.Duration) string {
	if d == 0 {
		return "+0"
	}
	return "+" + words.Measured(d)
}
