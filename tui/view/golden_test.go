package view

import (
	"flag"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
		{"light", Options{Theme: Light}},
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

// TestHighContrastAndNoColour: what they may and may not use.
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

func sequences(s string) []string {
	var all []string
	for {
		at := strings.IndexByte(s, '\x1b')
		if at < 0 {
			return all
		}
		s = s[at:]
		end := strings.IndexByte(s, 'm') + 1
		all = append(all, s[:end])
		s = s[end:]
	}
}

// TestFewColours: on a terminal with sixteen colours there are no others.
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

// TestGroundsDiffer: where there are 256 colours only, the grounds of what is
// selected, current and held are still not the same.
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

// TestStatesDifferWithoutColour: every state of a pod and of a row can be told
// from every other by its sign or its word.
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
