package view

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Rect is a part of the screen, in cells, from the upper left corner.
type Rect struct{ X, Y, W, H int }

func (r Rect) right() int  { return r.X + r.W }
func (r Rect) bottom() int { return r.Y + r.H }
func (r Rect) empty() bool { return r.W <= 0 || r.H <= 0 }

func (r Rect) has(x, y int) bool {
	return x >= r.X && x < r.right() && y >= r.Y && y < r.bottom()
}

// inset takes cells off the sides.
func (r Rect) inset(left, top, right, bottom int) Rect {
	return Rect{r.X + left, r.Y + top, max(0, r.W-left-right), max(0, r.H-top-bottom)}
}

// line returns the i-th line of the part.
func (r Rect) line(i int) Rect { return Rect{r.X, r.Y + i, r.W, 1} }

// cell is one place of the screen. The right half of a wide character has no
// text.
type cell struct {
	text string
	ink  ink
}

// canvas is the grid that a frame is drawn on.
type canvas struct {
	w, h  int
	cells []cell
	// plain maps signs of ordinary texts to their replacements; nil if they are left as they are.
	plain map[string]string
}

func newCanvas(w, h int) *canvas {
	c := &canvas{w: w, h: h, cells: make([]cell, w*h)}
	for i := range c.cells {
		c.cells[i].text = " "
	}
	return c
}

func (c *canvas) all() Rect { return Rect{0, 0, c.w, c.h} }

// set writes one character of width 1 or 2. If it cuts a wide character in two, the other half becomes blank.
func (c *canvas) set(x, y int, text string, width int, k ink) {
	row := c.cells[y*c.w : (y+1)*c.w]
	if row[x].text == "" && x > 0 {
		row[x-1].text = " "
	}
	if end := x + width; end < c.w && row[end].text == "" {
		row[end].text = " "
	}
	if p, ok := c.plain[text]; ok {
		text = p
	}
	row[x] = cell{text, k}
	if width == 2 {
		row[x+1] = cell{"", k}
	}
}

// put writes text from x on, as far as it is within clip, and returns the place after it, which may be outside of
// clip. A control character becomes a blank.
func (c *canvas) put(clip Rect, x, y int, text string, k ink) int {
	left, right := max(clip.X, 0), min(clip.right(), c.w)
	if y < max(clip.Y, 0) || y >= min(clip.bottom(), c.h) {
		return x + width(text)
	}
	for len(text) > 0 {
		g, w := cutFirst(text)
		text = text[len(g):]
		if w == 0 {
			continue
		}
		switch {
		case x >= left && x+w <= right:
			c.set(x, y, visible(g, w), w, k)
		case x < right && x+w > left: // half of a wide one
			for i := max(x, left); i < min(x+w, right); i++ {
				c.set(i, y, " ", 1, k)
			}
		}
		x += w
	}
	return x
}

// cutFirst returns the first character, with what combines with it, and its width.
func cutFirst(s string) (string, int) {
	if s[0] < utf8.RuneSelf && (len(s) == 1 || s[1] < utf8.RuneSelf) {
		return s[:1], 1
	}
	g, w := ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	if w > 2 {
		w = 2
	}
	return g, w
}

// visible replaces what could be a command to the terminal. Package state has already made such text readable; this
// is the second lock.
func visible(g string, w int) string {
	for _, r := range g {
		if r < 0x20 || r >= 0x7f && r < 0xa0 || r == utf8.RuneError {
			return strings.Repeat(" ", w)
		}
	}
	return g
}

// fill lays an ink under a part without changing its text.
func (c *canvas) fill(r Rect, k ink) {
	for y := max(r.Y, 0); y < min(r.bottom(), c.h); y++ {
		for x := max(r.X, 0); x < min(r.right(), c.w); x++ {
			c.cells[y*c.w+x].ink = k
		}
	}
}

// clear makes a part blank.
func (c *canvas) clear(r Rect) {
	for y := max(r.Y, 0); y < min(r.bottom(), c.h); y++ {
		for x := max(r.X, 0); x < min(r.right(), c.w); x++ {
			c.set(x, y, " ", 1, 0)
		}
	}
}

// repeat draws one glyph of width 1 n times to the right.
func (c *canvas) repeat(clip Rect, x, y, n int, glyph string, k ink) {
	for i := range n {
		c.put(clip, x+i, y, glyph, k)
	}
}

// text returns the lines, each at most as wide as the canvas, with their colours.
func (c *canvas) text(inks []string) string {
	var b strings.Builder
	b.Grow(len(c.cells) * 2)
	for y := range c.h {
		if y > 0 {
			b.WriteByte('\n')
		}
		writeLine(&b, c.cells[y*c.w:(y+1)*c.w], inks)
	}
	return b.String()
}

func writeLine(b *strings.Builder, row []cell, inks []string) {
	end := len(row)
	for end > 0 && row[end-1].text == " " && row[end-1].ink.bare() {
		end--
	}
	on := ""
	for _, c := range row[:end] {
		if seq := inks[c.ink]; seq != on {
			if on != "" {
				b.WriteString(ansi.ResetStyle)
			}
			b.WriteString(seq)
			on = seq
		}
		b.WriteString(c.text)
	}
	if on != "" {
		b.WriteString(ansi.ResetStyle)
	}
}
