package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/podstep/podstep/tui/screen"
)

// arrangements returns all arrangements that a layout may have to cope with.
func arrangements() []Arrangement {
	var all []Arrangement
	tour := func(w int) int { return 6 + 300/max(1, w) }
	for bits := range 1 << 4 {
		for _, focus := range []screen.Pane{screen.PanePods, screen.PaneMain, screen.PaneDetail} {
			for _, split := range []int{0, 10, 45, 90} {
				a := Arrangement{Focus: focus, Split: split, Zoom: bits&1 != 0, HasDetail: bits&2 != 0, HasHold: bits&4 != 0}
				if bits&8 != 0 {
					a.Tour = tour
				}
				all = append(all, a)
			}
		}
	}
	return all
}

func (l Layout) parts() map[string]Rect {
	return map[string]Rect{
		"header": l.Header, "crumbs": l.Crumbs, "hold": l.Hold, "pods": l.Pods, "main": l.Main,
		"detail": l.Detail, "tour": l.Tour, "why": l.Why, "foot": l.Foot,
	}
}

// TestLayoutFits: at every size every part is on the screen, and none covers
// another.
func TestLayoutFits(t *testing.T) {
	all := arrangements()
	for h := 1; h <= 60; h++ {
		for w := 1; w <= 210; w++ {
			if w > 40 && w < 200 && (w+h)%7 != 0 {
				continue
			}
			for _, a := range all {
				checkLayout(t, w, h, a)
			}
		}
	}
}

func checkLayout(t *testing.T, w, h int, a Arrangement) {
	t.Helper()
	l := Arrange(w, h, a)
	area := 0
	parts := l.parts()
	for name, r := range parts {
		if r.empty() {
			continue
		}
		area += r.W * r.H
		if r.X < 0 || r.Y < 0 || r.right() > w || r.bottom() > h {
			t.Fatalf("%dx%d %+v: %s %+v is not on the screen", w, h, a, name, r)
		}
	}
	seen := make([]bool, w*h)
	for name, r := range parts {
		for y := r.Y; y < r.bottom(); y++ {
			for x := r.X; x < r.right(); x++ {
				if seen[y*w+x] {
					t.Fatalf("%dx%d %+v: %s %+v covers another part", w, h, a, name, r)
				}
				seen[y*w+x] = true
			}
		}
	}
	if a.HasHold && h > 1 && l.Hold.empty() {
		t.Fatalf("%dx%d: the banner is not there", w, h)
	}
	if !l.Tiny && a.Focus == screen.PaneMain && l.Main.H < 3 {
		t.Fatalf("%dx%d %+v: the pipeline has %d lines", w, h, a, l.Main.H)
	}
	if !l.Tiny && a.Tour != nil && l.Tour.H < 3 {
		t.Fatalf("%dx%d %+v: the tour has %d lines", w, h, a, l.Tour.H)
	}
}

// art draws a layout: each part by a letter, at a quarter of its width.
func art(w, h int, a Arrangement) string {
	l := Arrange(w, h, a)
	letters := map[string]byte{"header": 'H', "crumbs": 'C', "hold": '!', "pods": 'P', "main": 'M', "detail": 'D', "tour": 'T', "why": 'W', "foot": 'F'}
	grid := make([][]byte, h)
	for y := range grid {
		grid[y] = []byte(strings.Repeat(".", w))
	}
	for name, r := range l.parts() {
		for y := r.Y; y < r.bottom(); y++ {
			for x := r.X; x < r.right(); x++ {
				grid[y][x] = letters[name]
			}
		}
	}
	for _, r := range l.Rules {
		for y := r.Y; y < r.bottom(); y++ {
			for x := r.X; x < r.right(); x++ {
				grid[y][x] = map[bool]byte{true: '|', false: '-'}[r.W == 1]
			}
		}
	}
	var b strings.Builder
	for _, line := range grid {
		for x := 0; x < w; x += 2 {
			b.WriteByte(line[min(w-1, x+x/2%2)])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestLayoutArt(t *testing.T) {
	tour := func(w int) int { return 4 + 240/w }
	cases := []struct {
		name string
		a    Arrangement
	}{
		{"plain", Arrangement{Focus: screen.PaneMain}},
		{"detail and hold", Arrangement{Focus: screen.PaneMain, HasDetail: true, HasHold: true}},
		{"tour", Arrangement{Focus: screen.PaneMain, HasDetail: true, HasHold: true, Tour: tour}},
		{"detail has the keys", Arrangement{Focus: screen.PaneDetail, HasDetail: true}},
		{"zoom", Arrangement{Focus: screen.PaneDetail, HasDetail: true, Zoom: true}},
	}
	var b strings.Builder
	for _, size := range [][2]int{{200, 50}, {120, 36}, {80, 24}, {64, 30}, {60, 16}, {40, 10}, {36, 8}} {
		for _, c := range cases {
			fmt.Fprintf(&b, "== %dx%d %s\n%s\n", size[0], size[1], c.name, art(size[0], size[1], c.a))
		}
	}
	golden(t, "layout.txt", b.String())
}

func TestSizesAreWhatIsDrawn(t *testing.T) {
	s := held()
	for _, size := range [][2]int{{200, 50}, {120, 36}, {80, 24}, {60, 16}, {40, 10}} {
		st := NewStyles(Options{Width: size[0], Height: size[1]})
		fits := Sizes(s, st)
		rows := s.Story().Rows
		s.Story().Rows = make([]screen.Row, fits.Main+40)
		for i := range s.Story().Rows {
			s.Story().Rows[i] = screen.Row{ID: "r", Label: "row"}
		}
		s.Story().Cursor = 0
		drawn := strings.Count(Draw(s, st), "row")
		s.Story().Rows = rows
		if drawn != fits.Main {
			t.Errorf("%v: %d rows drawn, sizes say %d", size, drawn, fits.Main)
		}
	}
}
