package tui

import (
	"context"
	"errors"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/ask"
	"github.com/podstep/podstep/tui/cluster"
	"github.com/podstep/podstep/tui/tours"
)

// namesMsg is what names a walk may take.
type namesMsg struct {
	walk  *walk
	tour  *tours.Tour
	found cluster.Found
	err   error
}

// walkTake looks for names that nobody has, before the walk makes anything.
// Objects of earlier runs are deleted first if clear is set: the person said so.
func (m *Model) walkTake(clear bool) tea.Cmd {
	w := m.walk
	w.busy = true
	node := m.info.GetNode()
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(m.ctx, walkTime)
		defer cancel()
		msg := namesMsg{walk: w}
		if clear {
			if msg.err = w.run.Clear(ctx); msg.err != nil {
				return msg
			}
		}
		msg.tour, msg.found, msg.err = w.run.Take(ctx, w.written, node)
		return msg
	}
}

// takeNames begins the walk with the names that it may take. What is there of
// earlier runs is deleted only if the person wants it.
func (m *Model) takeNames(msg namesMsg) tea.Cmd {
	w := msg.walk
	if w != m.walk {
		return nil
	}
	w.busy = false
	if msg.err != nil {
		if !errors.Is(msg.err, context.Canceled) {
			w.err = m.text(reason.Error(msg.err))
		}
		return nil
	}
	if len(msg.found.Left) == 0 {
		return m.walkWith(msg)
	}
	m.push(&ask.Dialog{
		Title: m.text(words.Text("Delete what an earlier walk made?", "删除之前的导览创建的内容？")),
		Text: append(append([]string{
			m.text(words.Text("This is there, and has the label of a walk. Somebody may be taking that walk now.", "以下内容带有导览的标签。可能有人正在进行那次导览。")), "",
		}, msg.found.Left...), "", m.text(words.Text("If it is kept, this walk takes other names.", "如果保留，这次导览会换用别的名字。"))),
		Buttons: []string{m.text(words.Text("Keep", "保留")), m.text(words.Text("Delete", "删除"))},
		Chose: func(button int) tea.Cmd {
			switch {
			case w != m.walk:
				return nil
			case button == 1:
				return m.walkTake(true)
			}
			return m.walkWith(msg)
		},
	})
	return nil
}

// walkWith goes to the first stop of the walk with the names that it has now.
func (m *Model) walkWith(msg namesMsg) tea.Cmd {
	w := msg.walk
	w.take(msg.tour, m.info)
	if taken := msg.found.Taken; len(taken) > 0 {
		m.notice(m.textf(words.Text("taken already: %s; this walk leaves that alone and uses %s", "已被占用：%s；这次导览不会动它们，改用 %s"),
			strings.Join(taken, ", "), w.tour.Pod))
	}
	return m.walkTo(0, nil)
}

// othersMsg is which pods may suffer when the node gets short of something.
type othersMsg struct {
	walk *walk
	pods []string
	err  error
}

// walkAsk looks for pods of others before the node gets short of something.
func (m *Model) walkAsk() tea.Cmd {
	w := m.walk
	w.busy = true
	return func() tea.Msg {
		ctx, cancel := m.within()
		defer cancel()
		pods, err := w.run.Others(ctx)
		return othersMsg{w, pods, err}
	}
}

// maxOthers is how many pods a question names.
const maxOthers = 8

// takeOthers makes the node short of something if there are no pods of others on
// it, or if the person wants it all the same.
func (m *Model) takeOthers(msg othersMsg) tea.Cmd {
	w := msg.walk
	if w != m.walk {
		return nil
	}
	w.busy = false
	if msg.err != nil {
		w.err = m.text(reason.Error(msg.err))
		return nil
	}
	if len(msg.pods) == 0 {
		w.asked = true
		return m.walkNext()
	}
	shown := msg.pods
	if len(shown) > maxOthers {
		shown = append(shown[:maxOthers:maxOthers], "...")
	}
	m.push(&ask.Dialog{
		Title: m.text(words.Text("Make the node short of memory?", "让节点内存不足？")),
		Text: append([]string{m.textf(words.Text("The kubelet may evict other pods too. On the node are %d that this walk did not make:",
			"kubelet 也可能驱逐别的 Pod。节点上有 %d 个不是这次导览创建的："), len(msg.pods)), ""}, shown...),
		Buttons: []string{m.text(words.Text("Not now", "暂不")), m.text(words.Text("Go on", "继续"))},
		Danger:  true,
		Chose: func(button int) tea.Cmd {
			if button != 1 || w != m.walk {
				return nil
			}
			w.asked = true
			return m.walkNext()
		},
	})
	return nil
}
