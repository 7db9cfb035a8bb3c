package walk

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/ask"
	"github.com/podstep/podstep/tui/session"
)

// dropPoint removes the walk's breakpoint.
func (w *Walk) dropPoint() tea.Cmd {
	if w.point == 0 {
		return nil
	}
	id := w.point
	w.point, w.pointFor = 0, -1
	return w.Desk.Act("", func(ctx context.Context, c session.Control) error { return c.RemoveBreakpoint(ctx, id) })
}

// undo takes back what was set up for a walk that has ended.
func (w *Walk) undo(out outcome) tea.Cmd {
	if out.done != nil {
		w.offerUndo()
	}
	if out.point == 0 {
		return nil
	}
	return w.Desk.Act("", func(ctx context.Context, c session.Control) error { return c.RemoveBreakpoint(ctx, out.point) })
}

// finish ends the walk after its last stop.
func (w *Walk) finish() tea.Cmd {
	w.enter(len(w.stops)-1, phaseOver)
	return tea.Batch(w.Desk.Finished(w.tour.Name), w.letGo())
}

// letGo lets the walk's held pod go, and removes the walk's breakpoint.
func (w *Walk) letGo() tea.Cmd {
	cmds := []tea.Cmd{w.dropPoint()}
	if h := w.held; h != nil {
		w.held = nil
		cmds = append(cmds, w.Desk.Act("", func(ctx context.Context, c session.Control) error {
			_, err := c.Continue(ctx, &agentpb.ContinueRequest{Pods: &agentpb.PodSelector{Uid: h.GetPod().GetUid()}})
			if reason.CodeOf(err) == agentpb.Problem_NOT_HELD {
				return nil
			}
			return err
		}))
	}
	return tea.Sequence(cmds...)
}

// End ends a walk anywhere. Nothing stays held or armed. The person is asked whether to delete what the walk made.
func (w *Walk) End() tea.Cmd {
	let := w.letGo()
	w.ended = true
	w.offerUndo()
	return let
}

// offerUndo asks whether to delete what a walk made.
func (w *Walk) offerUndo() {
	made := w.Run.Made()
	if len(made) == 0 {
		return
	}
	w.Desk.Ask(&ask.Dialog{
		Title: w.text(words.Text("Delete what the walk made?", "删除导览创建的内容？")),
		Text: append([]string{w.textf(words.Text("The walk %q made this. Nothing else is deleted.", "导览“%s”创建了以下内容，其他的都不会删除。"), w.text(w.tour.Title)), ""},
			made...),
		Buttons: []string{w.text(words.Text("Keep", "保留")), w.text(words.Text("Delete", "删除"))},
		Chose: func(button int) tea.Cmd {
			if button != 1 {
				return nil
			}
			return w.Desk.Act(w.text(words.Text("what the walk made is deleted", "导览创建的内容已删除")), func(ctx context.Context, _ session.Control) error {
				return w.Run.Undo(ctx)
			})
		},
	})
}
