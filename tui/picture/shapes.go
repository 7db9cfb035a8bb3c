package picture

// part is a rectangle within a cell. Its numbers are fractions of the cell's width and height.
type part struct{ x, y, w, h float64 }

// The thickness of lines, as fractions of a cell's width and height.
const (
	thinW, thinH   = 0.12, 0.056
	heavyW, heavyH = 0.26, 0.12
)

func level(from, to, thick float64) part   { return part{from, 0.5 - thick/2, to - from, thick} }
func upright(from, to, thick float64) part { return part{0.5 - thick/2, from, thick, to - from} }

// shapes are the characters that are drawn as shapes, not written as text.
var shapes = map[string][]part{
	"─": {level(0, 1, thinH)}, "━": {level(0, 1, heavyH)},
	"│": {upright(0, 1, thinW)}, "┃": {upright(0, 1, heavyW)},
	"┬": {level(0, 1, thinH), upright(0.5, 1, thinW)},
	"┴": {level(0, 1, thinH), upright(0, 0.5, thinW)},
	"├": {upright(0, 1, thinW), level(0.5, 1, thinH)},
	"┤": {upright(0, 1, thinW), level(0, 0.5, thinH)},
	"┼": {upright(0, 1, thinW), level(0, 1, thinH)},
	"╭": {upright(0.5, 1, thinW), level(0.5, 1, thinH)},
	"╮": {upright(0.5, 1, thinW), level(0, 0.5, thinH)},
	"╰": {upright(0, 0.5, thinW), level(0.5, 1, thinH)},
	"╯": {upright(0, 0.5, thinW), level(0, 0.5, thinH)},
	"┊": {upright(0.05, 0.2, thinW), upright(0.3, 0.45, thinW), upright(0.55, 0.7, thinW), upright(0.8, 0.95, thinW)},
	"┄": {level(0.05, 0.3, thinH), level(0.38, 0.63, thinH), level(0.71, 0.96, thinH)},
	"█": {{0, 0, 1, 1}}, "▐": {{0.5, 0, 0.5, 1}},
	"▏": eighth(1), "▎": eighth(2), "▍": eighth(3), "▌": eighth(4), "▋": eighth(5), "▊": eighth(6), "▉": eighth(7),
}

func eighth(n float64) []part { return []part{{0, 0, n / 8, 1}} }

// across reports whether a shape takes the whole width of a cell, so that several in a row are drawn as one.
func across(shape []part) bool { return len(shape) == 1 && shape[0].w == 1 }

// shape draws a shape that fills the cells from one column to another.
func (p *picture) shape(from, to, line int, shape []part, fill string) {
	for _, s := range shape {
		w := s.w + float64(to-from-1)
		p.rect(x(from)+s.x*cellW, p.y(line)+s.y*cellH, w*cellW, s.h*cellH, fill)
	}
}
