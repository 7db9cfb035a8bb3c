package view

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/tui/screen"
)

// sources returns the files of this package that draw.
func sources(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(text)
	}
	return all
}

var comments = regexp.MustCompile(`(?m)//.*$`)

// TestOnePlace: colours are only in styles.go, glyphs only in glyphs.go, Chinese
// only in words.go.
func TestOnePlace(t *testing.T) {
	colour := regexp.MustCompile(`lipgloss|image/color|#[0-9a-fA-F]{6}|\\x1b|\\033|Reset`)
	for name, text := range sources(t) {
		code := comments.ReplaceAllString(text, "")
		if m := colour.FindString(code); m != "" && name != "styles.go" && name != "canvas.go" {
			t.Errorf("%s has a colour: %s", name, m)
		}
		for _, r := range code {
			switch {
			case r < utf8.RuneSelf, name == "glyphs.go":
			case name == "words.go" || name == "breaks.go" && r == '#':
			case name == "text.go" && unicode.IsPunct(r): // the signs with which no line begins
			default:
				t.Errorf("%s has a glyph: %q", name, r)
			}
		}
	}
}

// TestNoBraille: patterns of braille are letters, not decoration.
func TestNoBraille(t *testing.T) {
	for name, text := range sources(t) {
		for _, r := range text {
			if r >= 0x2800 && r <= 0x28ff {
				t.Errorf("%s has the braille pattern %q", name, r)
			}
		}
	}
}

// TestGlyphs: glyphs have the width that they should have, and the ASCII ones are ASCII.
func TestGlyphs(t *testing.T) {
	for set := range glyphSets {
		m := &glyphSets[set]
		single := []string{
			m.done, m.failed, m.current, m.held, m.toCome, m.unseen, m.waits, m.note, m.stuck, m.running, m.working,
			m.waiting, m.finished, m.gone, m.live, m.connecting, m.replay, m.frozen, m.ended, m.record, m.open, m.closed,
			m.cursor, m.cursorOff, m.lineH, m.lineV, m.teeDown, m.teeUp, m.teeRight, m.teeLeft, m.cross, m.cornerTL,
			m.cornerTR, m.cornerBL, m.cornerBR, m.thumb, m.knob, m.played, m.crumb, m.pointer, m.down, m.dot, m.critical,
			m.grid, m.now, m.barEnd, m.barHalf, m.barPlain, m.barBusy, m.barNo,
		}
		for _, g := range append(single, m.eighths...) {
			if width(g) != 1 {
				t.Errorf("set %d: %q is %d wide", set, g, width(g))
			}
			if Glyphs(set) == ASCII && len(g) != 1 {
				t.Errorf("%q is not ASCII", g)
			}
		}
	}
}

// TestSignsAreExplained: docs/terms.md has every sign of a row and of a pod, with
// its ASCII form.
func TestSignsAreExplained(t *testing.T) {
	doc, err := os.ReadFile("../../docs/terms.md")
	if err != nil {
		t.Fatal(err)
	}
	m, a := &glyphSets[Unicode], &glyphSets[ASCII]
	explained := func(glyph, plain string) {
		if !strings.Contains(string(doc), "| "+glyph+" | "+plain+" |") {
			t.Errorf("docs/terms.md does not explain %s, %s", glyph, plain)
		}
	}
	for r := screen.RowDone; r <= screen.RowNoted; r++ {
		glyph, _ := m.row(r)
		plain, _ := a.row(r)
		explained(glyph, plain)
	}
	for p := life.Held; p <= life.Gone; p++ {
		glyph, _ := m.pod(p)
		plain, _ := a.pod(p)
		explained(glyph, plain)
	}
	explained(m.open+" "+m.closed, a.open+" "+a.closed)
	explained(m.cursor+" "+m.cursorOff, a.cursor+" "+a.cursorOff)
	explained(m.critical, a.critical)
}
