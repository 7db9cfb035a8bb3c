package tui

import (
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/ask"
	"github.com/podstep/podstep/tui/session"
)

// leaving is the question before the program ends.
type leaving struct{ ask.Dialog }

// quit ends the program. It asks first if something else ends with it.
func (m *Model) quit() tea.Cmd {
	if l := m.top(); l != nil {
		if _, asked := l.Layer.(*leaving); asked {
			return m.quitNow()
		}
	}
	d := m.askLeave()
	if d == nil {
		return m.quitNow()
	}
	m.push(d)
	return nil
}

// quitNow ends the program without asking.
func (m *Model) quitNow() tea.Cmd {
	m.stopWaiting()
	return tea.Quit
}

// askLeave returns the question, which names what ends with the program; nil if nothing does.
func (m *Model) askLeave() *leaving {
	lab, held := m.opts.labRuns(), m.ownHeld()
	if !lab && len(held) == 0 {
		return nil
	}
	d := &leaving{ask.Dialog{
		Title:   m.text(words.Text("End podstep?", "退出 podstep？")),
		Buttons: []string{m.text(words.Text("Stay", "留下")), m.text(words.Text("End", "退出"))},
	}}
	if lab {
		d.Title, d.Danger = m.text(words.Text("End the lab?", "结束实验环境？")), true
		d.Text = append(d.Text, m.labWords())
	}
	switch {
	case len(held) == 0:
	case lab:
		d.Text = append(d.Text, m.textf(words.Text("Held now: %s.", "现在被停住的：%s。"), m.listNames(held)))
	default:
		d.Text = append(d.Text, m.textf(words.Text("Held pods go on: %s.", "被停住的 Pod 会继续：%s。"), m.listNames(held)))
	}
	d.Text = append(d.Text, m.text(words.Text("y ends, Enter or n stays. Ctrl+C ends at once.", "y 退出，Enter 或 n 留下。再按 Ctrl+C 立即退出。")))
	d.Chose = func(button int) tea.Cmd {
		if button != 1 {
			m.last = ""
			return nil
		}
		return m.quitNow()
	}
	return d
}

// labRuns reports whether there is a lab that ends with the screen, and still runs.
func (o *Options) labRuns() bool {
	if !o.Lab {
		return false
	}
	select {
	case <-o.LabEnded:
		return false
	default:
		return true
	}
}

func (m *Model) labWords() string {
	switch n := m.screen().Header.Pods; n {
	case 0:
		return m.textf(words.Text("Node %s ends.", "节点 %s 会结束。"), m.node())
	case 1:
		return m.textf(words.Text("Node %s ends, and 1 pod on it.", "节点 %s 及其上的 1 个 Pod 会结束。"), m.node())
	default:
		return m.textf(words.Text("Node %s ends, and %d pods on it.", "节点 %s 及其上的 %d 个 Pod 会结束。"), m.node(), n)
	}
}

// ownHeld returns the names of the pods that are let go when the program ends. Pods that others hold stay held.
func (m *Model) ownHeld() (names []string) {
	l, ok := m.control.(*session.Ledger)
	if !ok {
		return nil
	}
	seen := map[string]bool{}
	for _, h := range m.holds {
		if uid := h.GetPod().GetUid(); l.Mine(h) && !seen[uid] {
			seen[uid] = true
			names = append(names, podName(h.GetPod()))
		}
	}
	return names
}

// listedNames bounds how many names a sentence lists before it gives a number.
const listedNames = 5

func (m *Model) listNames(names []string) string {
	if over := len(names) - listedNames; over > 0 {
		names = append(names[:listedNames:listedNames], fmt.Sprintf(m.text(words.Text("and %d more", "等另外 %d 个")), over))
	}
	return strings.Join(names, m.text(words.Text(", ", "、")))
}
