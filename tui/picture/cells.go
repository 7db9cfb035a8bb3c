package picture

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// look is how a cell is drawn.
type look struct {
	fg, bg                          string // "#rrggbb"; empty for the terminal's own
	bold, faint, underline, reverse bool
}

// cell is one character, 1 or 2 wide. The second half of a wide one has width 0.
type cell struct {
	text  string
	width int
	look
}

// grid reads text into height lines of width cells. It cuts off what does not fit.
func grid(text string, width, height int) [][]cell {
	lines := make([][]cell, height)
	var now look
	for y, line := range strings.Split(text, "\n") {
		if y == height {
			break
		}
		lines[y], now = row(line, width, now)
	}
	for y := range lines {
		for len(lines[y]) < width {
			lines[y] = append(lines[y], cell{text: " ", width: 1})
		}
	}
	return lines
}

func row(line string, width int, now look) ([]cell, look) {
	var cells []cell
	for len(line) > 0 {
		if seq, args, ok := sgr(line); ok {
			now = now.apply(args)
			line = line[len(seq):]
			continue
		}
		g, w := ansi.FirstGraphemeCluster(line, ansi.GraphemeWidth)
		line = line[len(g):]
		if w == 0 || len(cells)+w > width {
			continue
		}
		cells = append(cells, cell{g, w, now})
		if w == 2 {
			cells = append(cells, cell{"", 0, now})
		}
	}
	return cells, now
}

// sgr returns the sequence that selects colours at the beginning of a text.
func sgr(s string) (seq string, args []int, ok bool) {
	if !strings.HasPrefix(s, "\x1b[") {
		return "", nil, false
	}
	end := strings.IndexByte(s, 'm')
	if end < 0 || strings.Trim(s[2:end], "0123456789;:") != "" {
		return "", nil, false
	}
	for _, a := range strings.FieldsFunc(s[2:end], func(r rune) bool { return r == ';' || r == ':' }) {
		n, _ := strconv.Atoi(a)
		args = append(args, n)
	}
	return s[:end+1], args, true
}

// apply returns the look after a sequence.
func (l look) apply(args []int) look {
	if len(args) == 0 {
		return look{}
	}
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == 0:
			l = look{}
		case a == 1:
			l.bold = true
		case a == 2:
			l.faint = true
		case a == 4:
			l.underline = true
		case a == 7:
			l.reverse = true
		case a == 22:
			l.bold, l.faint = false, false
		case a == 24:
			l.underline = false
		case a == 27:
			l.reverse = false
		case a == 38 || a == 48:
			colour, n := extended(args[i+1:])
			if a == 38 {
				l.fg = colour
			} else {
				l.bg = colour
			}
			i += n
		case a == 39:
			l.fg = ""
		case a == 49:
			l.bg = ""
		case a >= 30 && a <= 37:
			l.fg = fmt.Sprint(a - 30)
		case a >= 90 && a <= 97:
			l.fg = fmt.Sprint(a - 90 + 8)
		case a >= 40 && a <= 47:
			l.bg = fmt.Sprint(a - 40)
		case a >= 100 && a <= 107:
			l.bg = fmt.Sprint(a - 100 + 8)
		}
	}
	return l
}

// extended reads one of 256 colours, or a colour of red, green and blue. It returns the colour and how many numbers
// it used.
func extended(args []int) (string, int) {
	switch {
	case len(args) >= 4 && args[0] == 2:
		return fmt.Sprintf("#%02x%02x%02x", byte(args[1]), byte(args[2]), byte(args[3])), 4
	case len(args) >= 2 && args[0] == 5:
		return indexed(args[1]), 2
	}
	return "", len(args)
}

// indexed returns one of the 256 colours: the 16 of the theme, a cube, and greys.
func indexed(n int) string {
	switch {
	case n < 16:
		return fmt.Sprint(max(0, n))
	case n < 232:
		level := func(i int) int {
			if i == 0 {
				return 0
			}
			return 55 + 40*i
		}
		n -= 16
		return fmt.Sprintf("#%02x%02x%02x", level(n/36), level(n/6%6), level(n%6))
	}
	grey := 8 + 10*(min(n, 255)-232)
	return fmt.Sprintf("#%02x%02x%02x", grey, grey, grey)
}
