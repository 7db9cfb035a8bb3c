package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/ask"
)

// layered is a layer, and the time when it appeared.
type layered struct {
	ask.Layer
	since time.Time
	// async: the layer appeared by itself, not because of a key.
	async bool
}

// A layer that appears by itself takes keys only after a quiet time: a key may have been on its way to something
// else. The layer does not wait for ever, so that a person who types without a pause can reach it.
const (
	quietTime   = 400 * time.Millisecond
	quietAtMost = 1500 * time.Millisecond
)

func (l *layered) armed(m *Model) bool {
	if !l.async {
		return true
	}
	now := m.clock.now()
	from := l.since
	if m.lastKey.After(from) {
		from = m.lastKey
	}
	return now.Sub(from) >= quietTime || now.Sub(l.since) >= quietAtMost
}

// push puts a layer on top because of a key.
func (m *Model) push(l ask.Layer) {
	m.layers = append(m.layers, &layered{Layer: l, since: m.clock.now()})
}

// appear puts a layer on top for which the person has not pressed a key.
func (m *Model) appear(l ask.Layer) tea.Cmd {
	m.layers = append(m.layers, &layered{Layer: l, since: m.clock.now(), async: true})
	return m.clock.after(quietTime, wakeMsg{})
}

func (m *Model) top() *layered {
	if len(m.layers) == 0 {
		return nil
	}
	return m.layers[len(m.layers)-1]
}

// key takes one key. What is on top of the screen gets it first.
func (m *Model) key(k tea.KeyPressMsg) tea.Cmd {
	defer func() { m.lastKey = m.clock.now() }()
	name := k.String()
	if name == "ctrl+c" {
		return m.quit()
	}
	if a := m.lookupOnTop(name); a != nil {
		m.shownNotice = nil
		m.frame.touch()
		return m.run(a)
	}
	if l := m.top(); l != nil {
		if !l.armed(m) {
			return m.clock.after(quietTime, wakeMsg{})
		}
		m.shownNotice = nil
		cmd, done := l.Key(k)
		if done {
			m.dropLayer(l)
		}
		return cmd
	}
	m.shownNotice = nil
	if m.input != nil {
		cmd, over := m.input.Key(k)
		if over {
			m.input = nil
		}
		return cmd
	}
	if a := m.lookup(name); a != nil {
		return m.run(a)
	}
	if k.Key().Text != "" {
		m.notice(m.textf(words.Text("%s does nothing here; {key:screen.help} lists the keys", "%s 在这里没有作用；按 {key:screen.help} 查看按键"), keyName(name)))
	}
	return nil
}

func (m *Model) dropLayer(l *layered) {
	for i, other := range m.layers {
		if other == l {
			m.layers = append(m.layers[:i:i], m.layers[i+1:]...)
			return
		}
	}
}

// paste passes pasted text to the line or layer in which text is typed.
func (m *Model) paste(s string) tea.Cmd {
	if l := m.top(); l != nil {
		if on, ok := l.Layer.(ask.Pastable); ok && l.armed(m) {
			on.Paste(s)
		}
		return nil
	}
	if m.input != nil {
		m.input.Paste(s)
	}
	return nil
}
