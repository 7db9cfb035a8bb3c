package picture

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
)

// Theme has the colours of the terminal in a picture.
type Theme struct {
	Ground, Text, Bar string
	// Colours are the terminal's sixteen colours.
	Colours [16]string
}

// Dark and Light are terminals as they often look.
var (
	Dark = Theme{
		Ground: "#15181e", Text: "#d7dce4", Bar: "#1d2129",
		Colours: [16]string{
			"#1d2129", "#e06c75", "#7fbf7a", "#d9b15f", "#6ea3f7", "#c98be0", "#4fb8c4", "#c3c9d3",
			"#6b7480", "#f28b82", "#9ad694", "#ebcb7b", "#8db8ff", "#e39df0", "#74d3de", "#ffffff",
		},
	}
	Light = Theme{
		Ground: "#ffffff", Text: "#24292f", Bar: "#f0f2f5",
		Colours: [16]string{
			"#24292f", "#b3261e", "#1a7f37", "#8a5a00", "#2456c7", "#8a2a9b", "#00707f", "#6b7480",
			"#57606a", "#d1372c", "#2da44e", "#a87400", "#3f74e0", "#a644b8", "#138a99", "#8c959f",
		},
	}
)

// Options say how a picture looks.
type Options struct {
	Theme Theme
	// Title stands in the bar above the terminal. Without a title there is no bar.
	Title string
}

// The size of a cell, and the space around the terminal.
const (
	cellW, cellH = 8.4, 18.0
	fontSize     = 14
	baseline     = 13.2
	margin       = 12.0
	barH         = 30.0
)

const fonts = `ui-monospace,'SF Mono','JetBrains Mono','Cascadia Mono',Menlo,Consolas,'DejaVu Sans Mono','Noto Sans Mono CJK SC','PingFang SC','Microsoft YaHei','WenQuanYi Micro Hei',monospace`

// SVG draws text with colour sequences as a terminal of width x height cells.
func SVG(text string, width, height int, o Options) []byte {
	if o.Theme.Ground == "" {
		o.Theme = Dark
	}
	top := margin
	if o.Title != "" {
		top += barH
	}
	p := &picture{theme: o.Theme, top: top}
	w, h := float64(width)*cellW+2*margin, float64(height)*cellH+top+margin
	p.f(`<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %g %g" font-family="%s" font-size="%d">`, w, h, w, h, fonts, fontSize)
	p.f(`<rect width="%g" height="%g" rx="9" fill="%s"/>`, w, h, o.Theme.Ground)
	if o.Title != "" {
		p.bar(w, o.Title)
	}
	for y, line := range grid(text, width, height) {
		p.grounds(y, line)
		p.line(y, line)
	}
	p.f("</svg>")
	return p.b.Bytes()
}

type picture struct {
	b     bytes.Buffer
	theme Theme
	top   float64
}

func (p *picture) f(format string, args ...any) {
	fmt.Fprintf(&p.b, format+"\n", args...)
}

// bar draws the top of the window, with its title.
func (p *picture) bar(w float64, title string) {
	p.f(`<path d="M0 %g V9 a9 9 0 0 1 9 -9 H%g a9 9 0 0 1 9 9 V%g Z" fill="%s"/>`, barH, w-9, barH, p.theme.Bar)
	for i := range 3 {
		p.f(`<circle cx="%g" cy="%g" r="5" fill="%s" opacity="0.35"/>`, 18+float64(i)*18, barH/2, p.theme.Text)
	}
	p.f(`<text x="%g" y="%g" text-anchor="middle" fill="%s" opacity="0.7">%s</text>`, w/2, barH/2+5, p.theme.Text, escape(title))
}

// colours returns the colours of a cell, with the theme's colours in the place of names.
func (p *picture) colours(l look) (fg, bg string) {
	fg, bg = p.colour(l.fg), p.colour(l.bg)
	if l.reverse {
		if fg == "" {
			fg = p.theme.Text
		}
		if bg == "" {
			bg = p.theme.Ground
		}
		fg, bg = bg, fg
	}
	if fg == "" {
		fg = p.theme.Text
	}
	return fg, bg
}

func (p *picture) colour(c string) string {
	if c == "" || c[0] == '#' {
		return c
	}
	var n int
	fmt.Sscan(c, &n)
	return p.theme.Colours[n&15]
}

func x(column int) float64 { return margin + float64(column)*cellW }

func (p *picture) y(line int) float64 { return p.top + float64(line)*cellH }

// grounds draws the backgrounds behind the text.
func (p *picture) grounds(y int, line []cell) {
	for from := 0; from < len(line); {
		_, bg := p.colours(line[from].look)
		to := from + 1
		for to < len(line) {
			if _, next := p.colours(line[to].look); next != bg {
				break
			}
			to++
		}
		if bg != "" {
			p.rect(x(from), p.y(y), float64(to-from)*cellW, cellH, bg)
		}
		from = to
	}
}

func (p *picture) rect(x, y, w, h float64, fill string) {
	p.f(`<rect x="%.1f" y="%.1f" width="%.2f" height="%.2f" fill="%s"/>`, x, y, w, h, fill)
}

// line draws the text of a line: characters of one look together, signs and shapes one by one.
func (p *picture) line(y int, line []cell) {
	for from := 0; from < len(line); {
		c := line[from]
		if c.width == 0 || c.text == " " && !c.underline {
			from++
			continue
		}
		fg, _ := p.colours(c.look)
		to := from + 1
		if shape, ok := shapes[c.text]; ok {
			for to < len(line) && line[to].text == c.text && line[to].look == c.look && across(shape) {
				to++
			}
			p.shape(from, to, y, shape, fg)
			from = to
			continue
		}
		for plain(c) && to < len(line) && plain(line[to]) && line[to].look == c.look {
			to++
		}
		if !plain(c) {
			to = from + c.width
		}
		p.text(from, to, y, line, fg)
		from = to
	}
}

// plain reports whether a character is sure to be as wide as a cell in every monospaced font.
func plain(c cell) bool { return len(c.text) == 1 }

func (p *picture) text(from, to, y int, line []cell, fg string) {
	var s strings.Builder
	for _, c := range line[from:to] {
		s.WriteString(c.text)
	}
	l := line[from].look
	text := strings.TrimRight(s.String(), " ")
	if l.underline {
		text = s.String()
	}
	more := ""
	if l.bold {
		more += ` font-weight="bold"`
	}
	if l.faint {
		more += ` opacity="0.6"`
	}
	if l.underline {
		more += ` text-decoration="underline"`
	}
	cells := len(text)
	if !plain(line[from]) {
		cells = line[from].width
	}
	p.f(`<text x="%.1f" y="%.1f" textLength="%.1f" lengthAdjust="spacingAndGlyphs" xml:space="preserve" fill="%s"%s>%s</text>`,
		x(from), p.y(y)+baseline, float64(cells)*cellW, fg, more, escape(text))
}

// escape makes text fit for XML. It replaces characters that XML cannot contain.
func escape(s string) string {
	var b bytes.Buffer
	if err := xml.EscapeText(&b, []byte(s)); err != nil {
		panic(err) // a buffer takes everything
	}
	return b.String()
}
