package view

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// checkSize draws a screen, and checks the number of lines and their widths.
func checkSize(t *testing.T, name string, s *screen.Screen, o Options) string {
	t.Helper()
	text := Draw(s, NewStyles(o))
	lines := strings.Split(text, "\n")
	if len(lines) != max(1, o.Height) {
		t.Fatalf("%s %+v: %d lines", name, o, len(lines))
	}
	for i, l := range lines {
		if w := ansi.StringWidth(l); w > max(1, o.Width) {
			t.Fatalf("%s %+v: line %d is %d wide: %q", name, o, i, w, l)
		}
	}
	return text
}

// TestEverySize draws all views at every width, in both languages and with both
// sets of glyphs.
func TestEverySize(t *testing.T) {
	heights := []int{1, 2, 5, 9, 10, 12, 16, 20, 24, 30, 36, 50}
	widths := []int{1, 2, 10, 39}
	for w := 40; w <= 200; w++ {
		widths = append(widths, w)
	}
	for i, fx := range append(fixtures[:len(fixtures):len(fixtures)], fixture{"chinese", chinese}) {
		t.Run(fx.name, func(t *testing.T) {
			t.Parallel()
			for j, w := range widths {
				s := fx.make()
				// each width with a few of the heights, all of them in turn
				for k := range 4 {
					s.Lang = []words.Lang{words.English, words.Chinese}[k&1]
					o := Options{Width: w, Height: heights[(i+j+k*5)%len(heights)], Glyphs: Glyphs(k >> 1), NoColour: w%2 == 0}
					checkSize(t, fx.name, s, o)
				}
			}
		})
	}
}

// TestASCII: with ASCII glyphs all signs of this package are ASCII.
func TestASCII(t *testing.T) {
	for _, fx := range fixtures {
		for _, size := range goldenSizes {
			s := fx.make()
			if s.Over != nil { // its text comes from the program
				for i := range s.Over.Items {
					s.Over.Items[i].Text = strings.Map(ascii, s.Over.Items[i].Text)
				}
			}
			text := ansi.Strip(Draw(s, NewStyles(Options{Width: size[0], Height: size[1], Glyphs: ASCII})))
			for _, r := range text {
				if r >= utf8.RuneSelf {
					t.Errorf("%s %v: has %q", fx.name, size, r)
				}
			}
		}
	}
}

func ascii(r rune) rune {
	if r >= utf8.RuneSelf {
		return '-'
	}
	return r
}

// TestCurrentStepIsShown: whatever else is on the screen, the held step is visible with the time that is left.
func TestCurrentStepIsShown(t *testing.T) {
	for _, make := range []func() *screen.Screen{held, tourOf, chinese} {
		for w := 40; w <= 200; w++ {
			for h := 10; h <= 50; h += 4 {
				s := make()
				text := ansi.Strip(Draw(s, NewStyles(Options{Width: w, Height: h})))
				left := fmt.Sprintf(s.Lang.In(wordLeft), "24 s")
				if !strings.Contains(text, s.Story().Rows[13].Label) || !strings.Contains(text, left) {
					t.Fatalf("%dx%d:\n%s", w, h, text)
				}
				if !strings.Contains(text, s.Lang.In(wordHELD)) {
					t.Fatalf("%dx%d has no banner", w, h)
				}
				if s.Tour != nil && !strings.Contains(text, head(s.Tour.Wait, 8)) {
					t.Fatalf("%dx%d does not say what the tour waits for:\n%s", w, h, text)
				}
			}
		}
	}
}

// TestHelpIsAlwaysShown: the last hint has its place at every size.
func TestHelpIsAlwaysShown(t *testing.T) {
	for w := 40; w <= 200; w++ {
		lines := strings.Split(ansi.Strip(Draw(held(), NewStyles(Options{Width: w, Height: 24}))), "\n")
		if foot := lines[len(lines)-1]; !strings.HasSuffix(foot, "? help") {
			t.Fatalf("%d: %q", w, foot)
		}
	}
}

// TestSelectionIsMarked: a reader can tell without colour which row is selected, and which pane has the keys.
func TestSelectionIsMarked(t *testing.T) {
	for _, glyphs := range []Glyphs{Unicode, ASCII} {
		st := NewStyles(Options{Width: 120, Height: 36, Glyphs: glyphs, NoColour: true})
		for _, focus := range []screen.Pane{screen.PanePods, screen.PaneMain} {
			s := held()
			s.Focus = focus
			text := ansi.Strip(Draw(s, st))
			inPods, inMain := st.m.cursorOff, st.m.cursor
			if focus == screen.PanePods {
				inPods, inMain = inMain, inPods
			}
			if !strings.Contains(text, inPods+st.m.held+" default ") {
				t.Errorf("%v: the pod is not marked with %s", focus, inPods)
			}
			if !strings.Contains(text, fmt.Sprintf("%s      ", inMain)) {
				t.Errorf("%v: the row is not marked with %s", focus, inMain)
			}
		}
	}
}

// FuzzDraw: foreign text of any kind neither moves parts of the screen nor commands the terminal.
func FuzzDraw(f *testing.F) {
	f.Add("web", 80, 24)
	f.Add("\x1b[2J\x1b]0;x\a\r\n\t", 120, 36)
	f.Add("停住\u202e\u0301👩‍👩‍👧‍👦\xff", 60, 16)
	f.Fuzz(func(t *testing.T, text string, w, h int) {
		w, h = w&255, h&63
		for _, fx := range []func() *screen.Screen{chinese, formOf, eventsOf, timelineOf, typingOf} {
			s := fx()
			foreign(s, text)
			out := checkSize(t, "fuzz", s, Options{Width: w, Height: h})
			for _, r := range ansi.Strip(out) {
				if r != '\n' && (r < 0x20 || r == 0x7f) {
					t.Fatalf("%q comes through", r)
				}
			}
			for _, seq := range sequences(out) {
				if !strings.HasPrefix(seq, "\x1b[") || strings.Trim(seq[2:len(seq)-1], "0123456789;") != "" {
					t.Fatalf("%q comes through", seq)
				}
			}
		}
	})
}

// foreign puts a text wherever text from others may stand.
func foreign(s *screen.Screen, text string) {
	s.Pods.Rows[0].Name, s.Pods.Rows[0].Line = text, text
	s.Crumbs = append(s.Crumbs, text)
	s.Why.Text = text
	if s.Story() != nil {
		s.Story().Rows[3].Label, s.Story().Rows[3].Error = text, text
	}
	if s.Detail != nil {
		s.Detail.Text, s.Detail.Error = text, text
		s.Detail.Args[0].Text = text
		s.Detail.Source[0], s.Detail.Request[0] = text, text
	}
	if s.Hold != nil {
		s.Hold.Pod = text
	}
	if s.Input != nil {
		s.Input.Text, s.Input.Error = text, text
	}
	if s.Over != nil {
		s.Over.Title, s.Over.Input.Text = text, text
		s.Over.Items[0].Text = text
	}
	if s.Events() != nil {
		s.Events().Rows[0].Text = text
	}
	if s.Timeline() != nil {
		s.Timeline().Bars[0].Label = text
	}
}

func BenchmarkDraw(b *testing.B) {
	for _, fx := range []fixture{{"held", held}, {"timeline", timelineOf}, {"chinese", chinese}, {"help", helpOf}} {
		b.Run(fx.name, func(b *testing.B) {
			s, st := fx.make(), NewStyles(Options{Width: 200, Height: 50})
			b.ReportAllocs()
			for b.Loop() {
				Draw(s, st)
			}
		})
	}
}

// TestHoldIsPinned: nothing on top of the screen covers the banner.
func TestHoldIsPinned(t *testing.T) {
	for _, make := range []func() *screen.Screen{paletteOf, helpOf, dialogOf, formOf, pageOf} {
		for w := 20; w <= 200; w += 3 {
			for h := 5; h <= 50; h++ {
				text := ansi.Strip(Draw(make(), NewStyles(Options{Width: w, Height: h})))
				if !strings.Contains(text, "HELD") || !strings.Contains(text, "24 s") {
					t.Fatalf("%dx%d:\n%s", w, h, text)
				}
			}
		}
	}
}

// TestOddScreens: screens that should not occur are drawn without a panic.
func TestOddScreens(t *testing.T) {
	odd := map[string]func() *screen.Screen{
		"empty": func() *screen.Screen { return &screen.Screen{} },
		"cursors outside": func() *screen.Screen {
			s := held()
			s.Pods.Cursor, s.Story().Cursor, s.Detail.Top, s.Detail.Mark = 99, -7, 9999, 99
			s.Over = paletteOf().Over
			s.Over.Cursor, s.Over.Items[0].Match, s.Over.Input.Cursor = 99, []int{-1, 500}, -3
			return s
		},
		"times backwards": func() *screen.Screen {
			s := timelineOf()
			s.Timeline().From, s.Timeline().To = s.Timeline().To, s.Timeline().From
			for i := range s.Timeline().Bars {
				b := &s.Timeline().Bars[i]
				b.From, b.To = b.To, b.From-1e12
			}
			return s
		},
	}
	for _, body := range []screen.Body{&screen.Story{}, &screen.Timeline{}, &screen.EventList{}, &screen.BreakList{}} {
		odd[fmt.Sprintf("all panes empty, %T", body)] = func() *screen.Screen {
			return &screen.Screen{
				Body: body, Detail: &screen.Detail{}, Hold: &screen.HoldBanner{}, Tour: &screen.TourCard{}, Input: &screen.Input{}, Over: &screen.Overlay{},
			}
		}
	}
	for name, make := range odd {
		for _, main := range Mains() {
			for _, size := range goldenSizes {
				s := make()
				s.Main = main
				checkSize(t, name, s, Options{Width: size[0], Height: size[1]})
				Hit(s, NewStyles(Options{Width: size[0], Height: size[1]}), 3, 3)
			}
		}
	}
}
