package tui

import (
	"cmp"
	"slices"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/settings"
	"github.com/podstep/podstep/tui/view"
)

// frame is what is on the screen, and what it was made from. It is drawn again
// only if something has come in between.
type frame struct {
	options view.Options
	// fixed: the theme was chosen, not found out.
	fixed  bool
	styles *view.Styles
	// stale: the screen, dirty: the text is of before the last message.
	stale, dirty bool
	screen       *screen.Screen
	// drawn is the screen that text was made of.
	drawn *screen.Screen
	text  string
	// cursor is where something is typed.
	cursor *tea.Cursor
}

// touch says that what is shown may have changed.
func (f *frame) touch() { f.stale, f.dirty = true, true }

func (f *frame) resize(width, height int) {
	f.options.Width, f.options.Height = width, height
	f.styles = view.NewStyles(f.options)
}

func (f *frame) restyle() {
	if f.styles != nil {
		f.styles = view.NewStyles(f.options)
	}
}

// choose takes the theme of that name; "auto" waits for the terminal's ground.
func (f *frame) choose(name string) {
	i := slices.Index(themeNames, name)
	if f.fixed = i > 0; f.fixed {
		f.options.Theme = themes[i-1]
	}
}

// background takes the theme that goes with the terminal's ground.
func (f *frame) background(dark bool) {
	f.options.LightGround = !dark
	if f.fixed {
		f.restyle()
		return
	}
	f.options.Theme = view.Light
	if dark {
		f.options.Theme = view.Dark
	}
	f.restyle()
}

// colours sets how many the terminal has.
func (f *frame) colours(p colorprofile.Profile) {
	if few := p <= colorprofile.ANSI; few != f.options.FewColours {
		f.options.FewColours = few
		f.restyle()
	}
}

// View draws what is to be seen.
func (m *Model) View() tea.View {
	v := tea.NewView("")
	v.AltScreen = true
	v.WindowTitle = "podstep"
	if m.mouse {
		v.MouseMode = tea.MouseModeCellMotion
	}
	if m.frame.styles == nil {
		return v // the terminal's size is not known yet
	}
	if m.frame.dirty || m.frame.text == "" {
		m.frame.drawn = m.screen()
		m.frame.text = view.Draw(m.frame.drawn, m.frame.styles)
		m.frame.cursor = m.typedAt()
		m.frame.dirty = false
	}
	v.Content = m.frame.text
	v.Cursor = m.frame.cursor
	return v
}

// typedAt is where the terminal's own cursor goes: an input method shows there
// what it is about to give. Nil if nothing is typed.
func (m *Model) typedAt() *tea.Cursor {
	if s := m.screen(); s.Input == nil && s.Over == nil {
		return nil
	}
	if x, y, ok := view.Cursor(m.screen(), m.frame.styles); ok {
		return tea.NewCursor(x, y)
	}
	return nil
}

// screen is what is to be seen now. How many rows fit depends on which parts
// there are, and those on what the state says; so it is asked twice when the
// parts have changed since the last frame.
func (m *Model) screen() *screen.Screen {
	f := &m.frame
	if !f.stale && f.screen != nil {
		return f.screen
	}
	if f.styles == nil {
		f.resize(defaultWidth, defaultHeight)
	}
	if f.screen == nil {
		f.screen = &screen.Screen{}
	}
	sizes := view.Sizes(f.screen, f.styles)
	for range 2 {
		f.screen = m.state.Screen(sizes)
		f.stale = false // to who asks while it is dressed
		m.dress(f.screen)
		fits := view.Sizes(f.screen, f.styles)
		if fits == sizes {
			break
		}
		sizes = fits
	}
	return f.screen
}

// What the size is taken for before the terminal has reported it.
const defaultWidth, defaultHeight = 80, 24

// dress adds what is not the state's: what is typed, what is on top, hints.
func (m *Model) dress(s *screen.Screen) {
	s.Lang = m.lang
	s.Notice = m.shownNotice
	if m.pending != nil && s.Notice == nil {
		s.Notice = &screen.Notice{Text: m.pending.text + " · " + m.text(words.Text("{key:leave.out} stops waiting", "按 {key:leave.out} 停止等待"))}
	}
	m.lookFor(s)
	m.sign(s)
	if m.input != nil {
		s.Input = m.input.Draw()
	}
	if m.walk != nil {
		s.Tour = m.walk.Card()
	}
	if m.record != nil {
		s.Header.Recording = m.record.path
	}
	if m.replay != nil {
		s.Header.At, s.Header.Of = m.replay.at, m.replay.of
	}
	s.Hints = m.hints()
	if l := m.top(); l != nil {
		s.Over = l.Overlay(m.frame.styles)
		s.Over.Armed = l.armed(m)
		s.Hints = nil
	}
}

// maxHints is how many hints the footer has, without the one for help.
const maxHints = 6

// helpKey is the way to the help page, which the footer always names.
const helpKey = "{key:screen.help}"

// hints are what the footer says: the actions that are wanted most now.
func (m *Model) hints() []screen.Hint {
	type ranked struct {
		*action
		rank int
	}
	var some []ranked
	for i := range m.actions {
		a := &m.actions[i]
		if a.rank == nil || !m.active(a.scope) {
			continue
		}
		if r := a.rank(m); r > 0 {
			some = append(some, ranked{a, r})
		}
	}
	slices.SortStableFunc(some, func(a, b ranked) int { return cmp.Compare(b.rank, a.rank) })
	var hints []screen.Hint
	for _, a := range some[:min(len(some), maxHints)] {
		hints = append(hints, m.hintOf(a.action))
	}
	return append(together(hints), screen.Hint{Key: m.text(words.Text(helpKey, helpKey)), Text: m.text(words.Text("help", "帮助"))})
}

func (m *Model) timelineShown() bool { return m.main() == screen.MainTimeline }
func (m *Model) breaksShown() bool   { return m.main() == screen.MainBreaks }
func (m *Model) main() screen.Main   { return m.screen().Main }

func (m *Model) zoomed() bool { return m.screen().Zoom }

// selectedBreak is the breakpoint that the list of them has selected.
func (m *Model) selectedBreak() (uint32, bool) {
	b := m.screen().Breaks()
	if b == nil || !inRange(b.Cursor, len(b.Rows)) {
		return 0, false
	}
	return b.Rows[b.Cursor].ID, true
}

var (
	themes = []view.Theme{view.Dark, view.Light, view.HighContrast, view.Deuteranopia, view.Terminal}
	// themeNames are the names on the command line: "auto", then those of themes.
	themeNames = screen.ThemeNames
)

// themeTitles are the themes in words.
var themeTitles = []text{
	words.Text("dark", "深色"), words.Text("light", "浅色"), words.Text("high contrast", "高对比"),
	words.Text("without red and green", "红绿色盲友好"), words.Text("the terminal's own colours", "终端自带的 16 色"),
}

func (m *Model) nextTheme() tea.Cmd {
	f := &m.frame
	f.fixed = true
	next := (slices.Index(themes, f.options.Theme) + 1) % len(themes)
	f.options.Theme = themes[next]
	f.restyle()
	m.notice(m.textf(words.Text("theme: %s", "主题：%s"), m.text(themeTitles[next])))
	return m.keep(settings.Theme, themeNames[next+1])
}
