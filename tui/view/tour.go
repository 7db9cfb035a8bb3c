package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/podstep/podstep/tui/screen"
)

// tour draws the card of a guided walk: its progress, what one sees, a question, and at the end always what it waits
// for.
func (f *frame) tour(r Rect) {
	t := f.s.Tour
	if t == nil || r.empty() {
		return
	}
	f.zone(r, Target{Kind: OnTour})
	line := r.line(0).inset(1, 0, 1, 0)
	line = f.putRight(line, fmt.Sprintf("%d/%d", t.Stop, t.Stops), inkMuted, 10)
	most := 2
	if r.H < min(8, tourLines(f.s, r.W)) {
		most = 1
	}
	title := f.tourTitle(line.W, most)
	for i, l := range title {
		f.put(Rect{line.X, line.Y + i, line.W, 1}, l, inkTitle)
	}
	body := r.inset(1, len(title), 1, 0)
	switch {
	case !f.lay.TourRule.empty():
		f.progress(f.lay.TourRule, t)
	case r.H > 6:
		f.progress(body.line(0), t)
		body = body.inset(0, 1, 0, 0)
	}
	lines, wait := f.tourFit(body.W, body.H)
	if len(lines) < body.H && !f.lay.TourRule.empty() {
		body = body.inset(0, 1, 0, 0)
	}
	for i, l := range lines {
		y := i
		if fromEnd := len(lines) - i; fromEnd <= wait {
			y = body.H - fromEnd // what the walk waits for is always at the end
		}
		f.rich(body.line(y), l, onNothing)
	}
}

// fewLines is how many lines of the text are more useful than the name of a key.
const fewLines = 3

// tourFit returns the card in h lines. The last n lines say what the walk waits for, and are always there. If there
// is no room for the rest, the blank lines go first, then the ends of the text and of the question. The card then
// names the key that shows them. An answer that was asked for has room before the text.
func (f *frame) tourFit(w, h int) (lines []rich, n int) {
	text, question, wait := f.tourText(w), f.tourQuestion(w), f.tourWait(w, "")
	all := slices.Concat(text, question, wait)
	if len(all) <= h {
		return all, len(wait)
	}
	blank := func(l rich) bool { return len(l) == 0 }
	question, wait = slices.DeleteFunc(question, blank), slices.DeleteFunc(wait, blank)
	if len(text)+len(question) > h-len(wait) {
		named := slices.DeleteFunc(f.tourWait(w, " "+f.m.dot+" "+f.s.Tour.Whole), blank)
		if len(named) == len(wait) || h-len(named) >= fewLines {
			wait = named
		}
	}
	wait = wait[:min(len(wait), h)]
	room := h - len(wait)
	if len(text)+len(question) > room {
		share := room
		if f.s.Tour.Answer == "" {
			share = max(room/2, room-len(text))
		}
		question = f.cutLines(question, share)
		text = f.cutLines(text, room-len(question))
	}
	return slices.Concat(text, question, wait), len(wait)
}

// cutLines returns the first n lines, and says in the last that there are more.
func (f *frame) cutLines(lines []rich, n int) []rich {
	if len(lines) <= n || n < 1 {
		return lines[:min(len(lines), n)]
	}
	last := lines[n-1][0]
	last.text += " " + f.m.ellipsis
	return append(slices.Clone(lines[:n-1]), rich{last})
}

// tourTitle returns the title in one or two lines: the walk's title and the stop's, each on a line of its own if one line
// has no room for both, or only the stop's if there is no room for that.
func (f *frame) tourTitle(w, most int) []string {
	t, dot := f.s.Tour, " "+f.m.dot+" "
	head := f.text(wordTour) + dot
	if t.Heading == "" {
		return joinFrom(wrap(head+t.Title, max(1, w)), most)
	}
	if one := head + t.Title + dot + t.Heading; width(one) <= w {
		return []string{one}
	}
	if most > 1 && width(head+t.Title) <= w && width(t.Heading) <= w {
		return []string{head + t.Title, t.Heading}
	}
	return joinFrom(wrap(head+t.Heading, max(1, w)), most)
}

// joinFrom joins lines beyond most into the last one, which is cut when it is drawn.
func joinFrom(lines []string, most int) []string {
	if len(lines) > most {
		lines = append(lines[:most-1], strings.Join(lines[most-1:], " "))
	}
	return lines
}

// progress draws a thin line, as long as the walk's progress.
func (f *frame) progress(line Rect, t *screen.TourCard) {
	if t.Stops < 1 {
		return
	}
	n := line.W * min(t.Stop, t.Stops) / t.Stops
	f.c.repeat(line, line.X, line.Y, n, f.m.played, inkAccent)
	if line != f.lay.TourRule {
		f.c.repeat(line, line.X+n, line.Y, line.W-n, f.m.lineH, inkLine)
	}
}

// tourText returns the text of the card. If the whole card has no room, the text is cut before the question and
// before what the walk waits for.
func (f *frame) tourText(w int) []rich {
	return wrapped(f.s.Tour.Text, w, 0, inkPlain)
}

func (f *frame) tourQuestion(w int) []rich {
	t := f.s.Tour
	var lines []rich
	if t.Question != "" {
		lines = append(append(lines, nil), wrapped("? "+t.Question, w, 2, inkAccent)...)
	}
	if t.Answer != "" {
		lines = append(append(lines, nil), wrapped(f.m.done+" "+t.Answer, w, 2, inkPlain)...)
	}
	return lines
}

// tourWait says what the card waits for, and what else the person can do.
func (f *frame) tourWait(w int, also string) []rich {
	if f.s.Tour.Wait == "" {
		return nil
	}
	return append([]rich{nil}, wrapped(f.m.pointer+" "+f.s.Tour.Wait+also, w, 2, inkKey)...)
}

// tourLines returns how many lines the card wants in a width.
func tourLines(s *screen.Screen, w int) int {
	f := &frame{s: s, m: &glyphSets[Unicode]}
	n := len(f.tourTitle(w-9, 2)) + len(f.tourText(w-2)) + len(f.tourQuestion(w-2)) + len(f.tourWait(w-2, ""))
	return n + 1 // the progress, or a blank before the text
}
