package tui

import (
	"context"
	"fmt"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/ask"
	"github.com/podstep/podstep/tui/session"
)

// dropPoint takes the walk's breakpoint away.
func (m *Model) dropPoint() tea.Cmd {
	w := m.walk
	if w.point == 0 {
		return nil
	}
	id := w.point
	w.point, w.pointFor = 0, -1
	return m.act("", func(ctx context.Context, c session.Control) error { return c.RemoveBreakpoint(ctx, id) })
}

// undo takes back what was set up for a walk that is over.
func (m *Model) undo(msg tourMsg) tea.Cmd {
	if msg.done != nil {
		m.offerUndo(msg.walk)
	}
	if msg.point == 0 {
		return nil
	}
	return m.act("", func(ctx context.Context, c session.Control) error { return c.RemoveBreakpoint(ctx, msg.point) })
}

// walkEnd is after the last stop.
func (m *Model) walkEnd() tea.Cmd {
	m.walk.enter(len(m.walk.stops)-1, walkOver)
	return tea.Batch(m.finishedWalk(m.walk.tour.Name), m.letWalkGo())
}

// letWalkGo lets go what the walk holds, and takes its breakpoint away.
func (m *Model) letWalkGo() tea.Cmd {
	w := m.walk
	cmds := []tea.Cmd{m.dropPoint()}
	if h := w.held; h != nil {
		w.held = nil
		cmds = append(cmds, m.act("", func(ctx context.Context, c session.Control) error {
			_, err := c.Continue(ctx, &agentpb.ContinueRequest{Pods: &agentpb.PodSelector{Uid: h.GetPod().GetUid()}})
			if reason.CodeOf(err) == agentpb.Problem_NOT_HELD {
				return nil
			}
			return err
		}))
	}
	return tea.Sequence(cmds...)
}

// endWalk ends a walk anywhere: nothing stays held or armed, and the person is
// asked what is to become of what it made.
func (m *Model) endWalk() tea.Cmd {
	w := m.walk
	let := m.letWalkGo()
	m.walk = nil
	m.offerUndo(w)
	return let
}

// offerUndo asks whether what a walk made is to be deleted.
func (m *Model) offerUndo(w *walk) {
	made := w.run.Made()
	if len(made) == 0 {
		return
	}
	m.push(&ask.Dialog{
		Title: m.text(words.Text("Delete what the walk made?", "删除导览创建的内容？")),
		Text: append([]string{m.textf(words.Text("The walk %q made this. Nothing else is deleted.", "导览“%s”创建了以下内容，其他的都不会删除。"), m.text(w.tour.Title)), ""},
			made...),
		Buttons: []string{m.text(words.Text("Keep", "保留")), m.text(words.Text("Delete", "删除"))},
		Chose: func(button int) tea.Cmd {
			if button != 1 {
				return nil
			}
			return m.act(m.text(words.Text("what the walk made is deleted", "导览创建的内容已删除")), func(ctx context.Context, _ session.Control) error {
				return w.run.Undo(ctx)
			})
		},
	})
}

// endWalkFor ends a walk when another agent is there: what it held is gone.
func (m *Model) endWalkFor(*agentpb.InfoResponse) {
	if m.walk != nil {
		m.walk = nil
		m.fail(fmt.Errorf("%s", m.text(words.Text("the walk has ended because the agent has ended", "代理已退出，导览随之结束"))))
	}
}
