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

// frame is the picture on the screen, and what it was made from. It is drawn again only if a message has come since.
type frame struct {
	options view.Options
	// fixed: a person chose the theme, so podstep does not adapt it.
	fixed  bool
	styles *view.Styles
	// stale says that screen, and dirty that the text, is older than the last message.
	stale, dirty bool
	screen       *screen.Screen
	// drawn is the screen from which the text was made.
	drawn *screen.Screen
	text  string
	// cursor is the place where something is typed.
	cursor *tea.Cursor
}

// touch notes that the picture may have changed.
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

// choose takes the theme of that name; "auto" waits until the terminal reports its background.
func (f *frame) choose(name string) {
	i := slices.Index(themeNames, name)
	if f.fixed = i > 0; f.fixed {
		f.options.Theme = themes[i-1]
	}
}

// background takes the theme that goes with the terminal's background.
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

// colours sets how many colours the terminal has.
func (f *frame) colours(p colorprofile.Profile) {
	if few := p <= colorprofile.ANSI; few != f.options.FewColours {
		f.options.FewColours = few
		f.restyle()
	}
}

// View draws the present screen.
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

// typedAt returns where the terminal's own cursor goes: an input method shows there what it is about to enter. Nil
// if nothing is typed.
func (m *Model) typedAt() *tea.Cursor {
	if s := m.screen(); s.Input == nil && s.Over == nil {
		return nil
	}
	if x, y, ok := view.Cursor(m.screen(), m.frame.styles); ok {
		return tea.NewCursor(x, y)
	}
	return nil
}

// screen returns the present screen. How many rows fit depends on which parts the screen has, and the parts depend
// on the state. So the state is asked twice if the parts have changed since the last frame.
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
		f.stale = false // cleared first, because dress asks for the screen again
		m.dress(f.screen)
		fits := view.Sizes(f.screen, f.styles)
		if fits == sizes {
			break
		}
		sizes = fits
	}
	return f.screen
}

// The size until the terminal has reported it.
const defaultWidth, defaultHeight = 80, 24

// dress adds the parts that the state does not have: what is typed, what is on top, hints.
func (m *Model) dress(s *screen.Screen) {
	s.Lang = m.lang
	s.Notice = m.shownNotice
	if m.pending != nil && s.Notice == nil {
		s.Notice = &screen.Notice{Text: m.pending.text + " · " + m.text(words.Text("{key:leave.out} stops waiting", "按 {key:leave.out} 停止等待"))}
	}
	m.showFinding(s)
	m.signRows(s)
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

// maxHints bounds the hints in the footer, without the one for help.
const maxHints = 6

// helpKey is the way to the help page, which the footer always names.
const helpKey = "{key:screen.help}"

// hints returns the footer's hints: the actions that are wanted most now.
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
	return append(groupByPod(hints), screen.Hint{Key: m.text(words.Text(helpKey, helpKey)), Text: m.text(words.Text("help", "帮助"))})
}

func (m *Model) timelineShown() bool { return m.main() == screen.MainTimeline }
func (m *Model) breaksShown() bool   { return m.main() == screen.MainBreaks }
func (m *Model) main() screen.Main   { return m.screen().Main }

func (m *Model) zoomed() bool { return m.screen().Zoom }

// selectedBreak returns the number of the breakpoint that is selected in their list.
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

// themeTitles name the themes in words.
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
	return m.keepSetting(settings.Theme, themeNames[next+1])
}
