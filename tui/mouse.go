package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/tui/ask"
	"github.com/podstep/podstep/tui/view"
)

// wheelRows is how many rows the wheel moves.
const wheelRows = 3

// mouseEvent carries out a click, a drag or a turn of the wheel. A key can do everything that the mouse can do.
func (m *Model) mouseEvent(msg tea.MouseMsg) tea.Cmd {
	if !m.mouse || m.frame.styles == nil {
		return nil
	}
	at := msg.Mouse()
	switch msg.(type) {
	case tea.MouseWheelMsg:
		m.wheel(at)
	case tea.MouseMotionMsg:
		if m.drag {
			m.dragTo(at.X)
		}
	case tea.MouseReleaseMsg:
		m.drag = false
	case tea.MouseClickMsg:
		if at.Button == tea.MouseLeft {
			return m.click(at.X, at.Y)
		}
	}
	return nil
}

// dragTo puts the divider at a column.
func (m *Model) dragTo(x int) {
	m.state.Resize(0) // the split is a share from now on, no longer by size
	m.frame.touch()
	m.state.Resize(x*100/max(1, m.frame.options.Width) - m.screen().Split)
}

// wheelOf returns by how many rows a button of the mouse moves; false: it does not.
func wheelOf(b tea.MouseButton) (by int, turns bool) {
	switch b {
	case tea.MouseWheelUp:
		return -wheelRows, true
	case tea.MouseWheelDown:
		return wheelRows, true
	}
	return 0, false
}

func (m *Model) wheel(at tea.Mouse) {
	by, turns := wheelOf(at.Button)
	if !turns {
		return
	}
	if l := m.top(); l != nil {
		if on, ok := l.Layer.(ask.Movable); ok {
			on.Move(by)
		}
		return
	}
	m.state.Move(by)
}

func (m *Model) click(x, y int) tea.Cmd {
	// The person clicks at what was drawn last, even if it would be elsewhere now.
	shown := m.frame.drawn
	if shown == nil {
		shown = m.screen()
	}
	t, ok := view.Hit(shown, m.frame.styles, x, y)
	if !ok {
		return nil
	}
	if l := m.top(); l != nil {
		return m.clickLayer(l, t)
	}
	switch t.Kind {
	case view.OnPod:
		m.state.SelectPod(t.Pod)
	case view.OnRow, view.OnBar:
		m.state.SelectRow(t.ID)
	case view.OnTop:
		m.state.SelectTop(t.ID)
	case view.OnFold:
		m.state.SelectRow(t.ID)
		m.state.Open()
	case view.OnMain:
		m.state.SetMain(t.Main)
	case view.OnHint:
		return m.clickHint(t.ID)
	case view.OnHold:
		m.toHold(m.bannerHold())
	case view.OnCrumb:
		m.state.Back()
	case view.OnDivider:
		m.drag = true
	case view.OnTour:
		if m.walk != nil {
			return m.followWalk()
		}
	}
	return nil
}

func (m *Model) clickLayer(l *layered, t view.Target) tea.Cmd {
	if !l.armed(m) {
		return nil
	}
	var cmd tea.Cmd
	var done bool
	if on, ok := l.Layer.(ask.Pressable); ok && t.Kind == view.OnButton {
		cmd, done = on.Press(t.Index)
	}
	if on, ok := l.Layer.(ask.Itemised); ok && t.Kind == view.OnItem {
		cmd, done = on.Item(t.Index)
	}
	if done {
		m.dropLayer(l)
	}
	return cmd
}

// clickHint does the action whose key the footer names.
func (m *Model) clickHint(key string) tea.Cmd {
	for i := range m.actions {
		a := &m.actions[i]
		if len(a.keys) > 0 && keyName(a.keys[0]) == key && m.active(a.scope) {
			return m.run(a)
		}
	}
	return nil
}
