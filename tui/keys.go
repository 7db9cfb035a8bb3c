package tui

import (
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// layer is something on top of the screen that has the keys: a dialog, a list to
// choose from, a page.
type layer interface {
	// key takes a key. It is done when the layer is to go.
	key(m *Model, k tea.KeyPressMsg) (cmd tea.Cmd, done bool)
	overlay(m *Model) *screen.Overlay
}

// layered is a layer, and since when it is there.
type layered struct {
	layer
	since time.Time
	// async: it appeared by itself, not because of a key.
	async bool
}

// What appears by itself takes keys only when none was pressed for a while: a
// key may have been on its way to something else. The patience for that ends,
// so that who types on and on is not locked out.
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
func (m *Model) push(l layer) { m.layers = append(m.layers, &layered{layer: l, since: m.clock.now()}) }

// appear puts a layer on top that nobody has asked for just now.
func (m *Model) appear(l layer) tea.Cmd {
	m.layers = append(m.layers, &layered{layer: l, since: m.clock.now(), async: true})
	return m.clock.after(quietTime, wakeMsg{})
}

func (m *Model) top() *layered {
	if len(m.layers) == 0 {
		return nil
	}
	return m.layers[len(m.layers)-1]
}

// key takes one key: what is on top has it first.
func (m *Model) key(k tea.KeyPressMsg) tea.Cmd {
	defer func() { m.lastKey = m.clock.now() }()
	name := k.String()
	if name == "ctrl+c" {
		return m.quit()
	}
	if l := m.top(); l != nil {
		if !l.armed(m) {
			return m.clock.after(quietTime, wakeMsg{})
		}
		cmd, done := l.key(m, k)
		if done {
			m.drop(l)
		}
		return cmd
	}
	m.shownNotice = nil
	if m.input != nil {
		return m.input.key(m, k)
	}
	if a := m.lookup(name); a != nil {
		return m.run(a)
	}
	if k.Key().Text != "" {
		m.notice(m.textf(words.Text("%s does nothing here; ? lists the keys", "%s 在这里没有作用；按 ? 查看按键"), keyName(name)))
	}
	return nil
}

func (m *Model) drop(l *layered) {
	for i, other := range m.layers {
		if other == l {
			m.layers = append(m.layers[:i:i], m.layers[i+1:]...)
			return
		}
	}
}

// paste is typed text, if something is being typed.
func (m *Model) paste(s string) tea.Cmd {
	if l := m.top(); l != nil {
		if p, ok := l.layer.(interface{ paste(*Model, string) }); ok && l.armed(m) {
			p.paste(m, s)
		}
		return nil
	}
	if m.input != nil {
		m.input.paste(m, s)
	}
	return nil
}
