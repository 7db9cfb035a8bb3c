package view

import (
	"slices"
	"strings"

	"github.com/podstep/podstep/tui/screen"
)

// dialog draws a dialog: its text, fields to fill in, and buttons. It draws the buttons even if there is no room for
// the rest.
func (f *frame) dialog(o *screen.Overlay) {
	w := overWidth(o.Kind, f.st)
	var text []string
	for _, t := range o.Text {
		text = append(text, wrap(t, w)...)
	}
	w = dialogWidth(o, text, w)
	room := overRoom(f.st).H - 2
	pad := 0
	if room >= 12 {
		pad = 1
	}
	fixed := len(o.Items) + 2*pad
	if len(o.Buttons) > 0 {
		fixed += 1 + pad
	}
	if len(text) > 0 && len(o.Items) > 0 {
		fixed += pad
	}
	text = shorten(text, max(0, room-fixed), f.m.ellipsis)
	shown := len(text)
	help := f.formHelp(o, w)
	help = help[:max(0, min(len(help), room-fixed-shown))]
	r := f.box(w, shown+fixed+len(help), o.Title, o.Danger)
	if len(o.Buttons) > 0 {
		f.buttons(r.line(r.H-1-pad), o)
	}
	r = r.inset(0, pad, 0, 0)
	for i := range shown {
		f.put(r.line(i), text[i], inkPlain)
	}
	r = r.inset(0, shown, 0, 0)
	if shown > 0 && len(o.Items) > 0 {
		r = r.inset(0, pad, 0, 0)
	}
	for i := range min(len(o.Items), r.H) {
		f.field(r.line(i), o, i)
	}
	for i, l := range help {
		f.rich(r.line(len(o.Items)+i), l, onNothing)
	}
}

// formHelp says what is wrong with the field that is being typed, or helps with it. The lines are there even if
// there is nothing to say, so that nothing moves.
func (f *frame) formHelp(o *screen.Overlay, w int) []rich {
	if len(o.Items) == 0 {
		return nil
	}
	lines := []rich{nil}
	if in := o.Input; in != nil && in.Error != "" {
		lines = append(lines, wrapped(f.m.failed+" "+in.Error, w, 2, inkFailedText)...)
	} else if in != nil {
		lines = append(lines, wrapped(in.Help, w, 0, inkFaint)...)
	}
	for len(lines) < 3 {
		lines = append(lines, nil)
	}
	return lines
}

// shorten makes a text fit into room lines. It takes out the blank lines and, if need be, cuts off the end, which it
// marks.
func shorten(text []string, room int, ellipsis string) []string {
	if len(text) <= room {
		return text
	}
	text = slices.DeleteFunc(slices.Clone(text), func(l string) bool { return l == "" })
	if len(text) > room {
		text = text[:room]
		if room > 0 {
			text[room-1] += " " + ellipsis
		}
	}
	return text
}

// dialogWidth returns the width of the content, within limits.
func dialogWidth(o *screen.Overlay, text []string, most int) int {
	w := width(o.Title) + 2
	for _, t := range text {
		w = max(w, width(t))
	}
	if len(o.Items) > 0 || o.Input != nil {
		w = most
	}
	buttons := 0
	for _, b := range o.Buttons {
		buttons += width(b) + 6
	}
	return min(most, max(w, buttons, 32))
}

// field draws a name and its value. The value of the chosen field is being typed.
func (f *frame) field(line Rect, o *screen.Overlay, i int) {
	ground := f.chosen(line, i == o.Cursor)
	f.zone(line, Target{Kind: OnItem, Index: i})
	name, value, _ := strings.Cut(o.Items[i].Text, ": ")
	column := 0
	for _, it := range o.Items {
		n, _, _ := strings.Cut(it.Text, ": ")
		column = max(column, min(width(n), line.W/2))
	}
	f.put(Rect{line.X, line.Y, column, 1}, name, inkMuted.on(ground))
	rest := restFrom(line, line.X+column+2)
	if i == o.Cursor && o.Input != nil {
		f.typed(rest, o.Input, ground)
		return
	}
	f.put(rest, value, inkPlain.on(ground))
}

// buttons draws the answers at the right, the chosen one lit and with a pointer.
func (f *frame) buttons(line Rect, o *screen.Overlay) {
	total := -2
	for _, b := range o.Buttons {
		total += width(b) + 6
	}
	x := max(line.X, line.right()-total)
	chosen := o.Cursor - len(o.Items)
	for i, b := range o.Buttons {
		text, k := "  "+b+"  ", inkButton
		if i == chosen {
			text, k = f.m.pointer+" "+b+"  ", inkButtonOn
			if o.Danger && i > 0 {
				k = inkButtonDanger
			}
		}
		if !o.Armed {
			k = inkFaint
		}
		from := x
		x = f.c.put(line, x, line.Y, text, k)
		f.zone(Rect{from, line.Y, x - from, 1}, Target{Kind: OnButton, Index: i})
		x += 2
	}
}
