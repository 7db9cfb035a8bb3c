package view

import (
	"flag"
	"fmt"
	"image/color"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/ansi"

	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/tui/screen"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test ./tui/view -update makes it)", err)
	}
	if got != string(want) {
		t.Errorf("%s has changed (go test ./tui/view -update, then look at the difference):\n%s", path, firstDifference(string(want), got))
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return fmt.Sprintf("line %d\nwant %s\ngot  %s", i+1, w[i], g[i])
		}
	}
	return fmt.Sprintf("want %d lines, got %d", len(w), len(g))
}

var goldenSizes = [][2]int{{200, 50}, {120, 36}, {80, 24}, {60, 16}, {40, 10}}

// TestGolden draws every view at every size. Escape characters are written as
// ␛, so that the files can be read and compared.
func TestGolden(t *testing.T) {
	looks := []struct {
		name string
		Options
	}{
		{"dark", Options{Theme: Dark}},
		{"ascii", Options{Glyphs: ASCII, NoColour: true}},
	}
	for _, fx := range append(fixtures[:len(fixtures):len(fixtures)], fixture{"chinese", chinese}) {
		for _, look := range looks {
			t.Run(fx.name+"/"+look.name, func(t *testing.T) {
				var b strings.Builder
				for _, size := range goldenSizes {
					look.Width, look.Height = size[0], size[1]
					text := Draw(fx.make(), NewStyles(look.Options))
					if look.name == "ascii" {
						text = ansi.Strip(text)
					}
					fmt.Fprintf(&b, "== %dx%d\n%s\n", size[0], size[1], strings.ReplaceAll(text, "\x1b", "␛"))
				}
				golden(t, filepath.Join(fx.name, look.name+".txt"), b.String())
			})
		}
	}
}

// TestGoldenLight: a light screen is the dark screen of TestGolden with other styles. The golden file has the light
// style for each dark one.
func TestGoldenLight(t *testing.T) {
	styles := map[string]bool{}
	for _, fx := range append(fixtures[:len(fixtures):len(fixtures)], fixture{"chinese", chinese}) {
		for _, size := range goldenSizes {
			dark := Draw(fx.make(), NewStyles(Options{Theme: Dark, Width: size[0], Height: size[1]}))
			light := Draw(fx.make(), NewStyles(Options{Theme: Light, Width: size[0], Height: size[1]}))
			from, to := sequences(dark), sequences(light)
			if !slices.Equal(styleSequence.Split(dark, -1), styleSequence.Split(light, -1)) {
				t.Errorf("%s at %dx%d: the light screen differs in more than its styles", fx.name, size[0], size[1])
				continue
			}
			for i := range from {
				styles[strings.ReplaceAll(from[i]+" "+to[i]+"\n", "\x1b", "␛")] = true
			}
		}
	}
	golden(t, "light.txt", strings.Join(slices.Sorted(maps.Keys(styles)), ""))
}

// styleSequence matches a style's escape sequence.
var styleSequence = regexp.MustCompile("\x1b[^m]*m")

// TestHighContrastAndNoColour: which sequences these looks may use.
func TestHighContrastAndNoColour(t *testing.T) {
	for _, fx := range fixtures {
		no := Draw(fx.make(), NewStyles(Options{Width: 120, Height: 36, NoColour: true}))
		for _, seq := range sequences(no) {
			// bold, underline and reverse
			if strings.Trim(seq[2:len(seq)-1], "147;") != "" {
				t.Errorf("%s without colour has %q", fx.name, seq)
			}
		}
		high := Draw(fx.make(), NewStyles(Options{Width: 120, Height: 36, Theme: HighContrast}))
		if strings.Contains(high, "[38;2") || strings.Contains(high, "[48;2") || strings.Contains(high, "\x1b[90m") {
			t.Errorf("%s with high contrast has a grey or a tint", fx.name)
		}
	}
}

func sequences(s string) []string { return styleSequence.FindAllString(s, -1) }

// TestFewColours: a terminal with sixteen colours gets no others.
func TestFewColours(t *testing.T) {
	for _, theme := range []Theme{Dark, Light} {
		for _, fx := range fixtures {
			text := Draw(fx.make(), NewStyles(Options{Width: 120, Height: 36, Theme: theme, FewColours: true}))
			if strings.Contains(text, "8;2;") || strings.Contains(text, "8;5;") {
				t.Errorf("%s has more than sixteen colours", fx.name)
			}
		}
	}
}

// TestGroundsDiffer: with only 256 colours, the grounds of selected, current and held rows still differ.
func TestGroundsDiffer(t *testing.T) {
	for _, theme := range []Theme{Dark, Light} {
		p := palettes[theme]
		seen := map[string]bool{}
		for _, c := range []color.Color{p.selected, p.current, p.held} {
			seen[fmt.Sprint(colorprofile.ANSI256.Convert(c))] = true
		}
		if len(seen) != 3 {
			t.Errorf("theme %d: %v", theme, seen)
		}
	}
}

// TestStatesDifferWithoutColour: every state of a pod and of a row differs from every other by its sign or its word.
func TestStatesDifferWithoutColour(t *testing.T) {
	for set := range glyphSets {
		m := &glyphSets[set]
		rows := map[string]screen.RowMark{}
		for r := screen.RowDone; r <= screen.RowNoted; r++ {
			glyph, _ := m.row(r)
			if other, ok := rows[glyph]; ok {
				t.Errorf("set %d: rows %d and %d have the same sign %s", set, other, r, glyph)
			}
			rows[glyph] = r
		}
		pods := map[string]life.State{}
		for p := life.Held; p <= life.Gone; p++ {
			glyph, _ := m.pod(p)
			if other, ok := pods[glyph]; ok {
				t.Errorf("set %d: pods %d and %d have the same sign %s", set, other, p, glyph)
			}
			pods[glyph] = p
		}
	}
}

// TestThemes: the drawn screens of the themes that go with both backgrounds.
func TestThemes(t *testing.T) {
	for _, look := range []struct {
		name string
		Options
	}{
		{"deuteranopia-dark", Options{Theme: Deuteranopia}},
		{"deuteranopia-light", Options{Theme: Deuteranopia, LightGround: true}},
		{"terminal-dark", Options{Theme: Terminal}},
		{"terminal-light", Options{Theme: Terminal, LightGround: true}},
	} {
		look.Width, look.Height = 120, 36
		text := Draw(fixtures[0].make(), NewStyles(look.Options))
		golden(t, filepath.Join("themes", look.name+".txt"), strings.ReplaceAll(text, "\x1b", "␛"))
		if look.Theme == Terminal && (strings.Contains(text, "8;2;") || strings.Contains(text, "8;5;")) {
			t.Errorf("%s has colours that are not the terminal's", look.name)
		}
	}
}

// TestFinding: the text that is looked for is marked in the pane that has the keys, and its matches are counted in
// the pane's title, with colours and without.
func TestFinding(t *testing.T) {
	for _, look := range []struct {
		name string
		Options
	}{{"dark", Options{}}, {"nocolour", Options{NoColour: true}}, {"ascii", Options{NoColour: true, Glyphs: ASCII}}} {
		var b strings.Builder
		for _, size := range goldenSizes {
			look.Width, look.Height = size[0], size[1]
			s := fixtures[0].make()
			s.Focus, s.Finding = screen.PaneMain, &screen.Finding{Text: "Sandbox", K: 1, N: 3, More: true}
			text := Draw(s, NewStyles(look.Options))
			if look.name == "ascii" {
				text = ansi.Strip(text)
			}
			fmt.Fprintf(&b, "== %dx%d\n%s\n", size[0], size[1], strings.ReplaceAll(text, "\x1b", "␛"))
		}
		golden(t, filepath.Join("finding", look.name+".txt"), b.String())
	}
	c := newCanvas(20, 1)
	c.put(c.all(), 0, 0, "沙箱 Sandbox SANDbox", inkPlain.on(onSelected))
	c.markText(c.all(), "sandbox", inkMatch)
	for x, cell := range c.cells {
		if want := x >= 5 && x != 12; (cell.ink == inkMatch.on(onSelected)) != want {
			t.Errorf("cell %d has ink %d", x, cell.ink)
		}
	}
}

// TestMarked: marked pods, bookmarks, all columns, and the number of pods that the filter selects, in sizes with
// room for them and without.
func TestMarked(t *testing.T) {
	var b strings.Builder
	for _, look := range []Options{{NoColour: true}, {NoColour: true, Glyphs: ASCII}} {
		for _, size := range goldenSizes {
			look.Width, look.Height = size[0], size[1]
			s := fixtures[0].make()
			s.Focus = screen.PanePods
			s.Pods.Marked, s.Pods.Match, s.Pods.Of, s.Pods.Sort = 2, len(s.Pods.Rows), 12, screen.SortRestarts
			s.Pods.Columns = screen.PodColumns
			for i := range s.Pods.Rows {
				p := &s.Pods.Rows[i]
				p.Marked, p.Restarts, p.Seen = i < 2, i-1, time.Duration(i)*time.Minute
			}
			if st := s.Story(); st != nil {
				st.Rows[0].Marked = true
			}
			fmt.Fprintf(&b, "== %dx%d\n%s\n", size[0], size[1], ansi.Strip(Draw(s, NewStyles(look))))
		}
	}
	golden(t, filepath.Join("finding", "marked.txt"), b.String())
}

// TestDeuteranopia: to a person who sees no green, as Machado, Oliveira and Fernandes (2009) compute it, the
// meanings of that theme differ by more than a glance needs.
func TestDeuteranopia(t *testing.T) {
	const apart = 20 // of CIE 1976; 2 can just be seen side by side
	for _, o := range []Options{{Theme: Deuteranopia}, {Theme: Deuteranopia, LightGround: true}} {
		p := coloursOf(o)
		all := map[string]color.Color{"failed": p.red, "warn": p.yellow, "done": p.green, "current": p.cyan, "held": p.magenta}
		for a, x := range all {
			for b, y := range all {
				if d := distance(seenWithoutGreen(x), seenWithoutGreen(y)); a < b && d < apart {
					t.Errorf("light ground %v: %s and %s are %.0f apart", o.LightGround, a, b, d)
				}
			}
		}
	}
	if d := distance(seenWithoutGreen(lipgloss.Color("#00a000")), seenWithoutGreen(lipgloss.Color("#b06000"))); d > apart {
		t.Errorf("a green and a brown are %.0f apart: the test proves nothing", d)
	}
}

// seenWithoutGreen returns a colour, in linear light, as a person without green cones sees it.
func seenWithoutGreen(c color.Color) (out [3]float64) {
	r, g, b, _ := c.RGBA()
	var in [3]float64
	for i, v := range []uint32{r, g, b} {
		s := float64(v) / 0xffff
		if in[i] = s / 12.92; s > 0.04045 {
			in[i] = math.Pow((s+0.055)/1.055, 2.4)
		}
	}
	for i, row := range [3][3]float64{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}} {
		out[i] = min(1, max(0, row[0]*in[0]+row[1]*in[1]+row[2]*in[2]))
	}
	return out
}

// distance returns the distance of two colours in CIE L*a*b*.
func distance(a, b [3]float64) float64 {
	x, y := lab(a), lab(b)
	return math.Sqrt((x[0]-y[0])*(x[0]-y[0]) + (x[1]-y[1])*(x[1]-y[1]) + (x[2]-y[2])*(x[2]-y[2]))
}

func lab(c [3]float64) [3]float64 {
	f := func(t float64) float64 {
		if t > 0.008856 {
			return math.Cbrt(t)
		}
		return 7.787*t + 16.0/116
	}
	x := f((0.4124*c[0] + 0.3576*c[1] + 0.1805*c[2]) / 0.9505)
	y := f(0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2])
	z := f((0.0193*c[0] + 0.1192*c[1] + 0.9505*c[2]) / 1.089)
	return [3]float64{116*y - 16, 500 * (x - y), 200 * (y - z)}
}
