package walk

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

// named lists the names that a walk may take.
type named struct {
	tour  *tours.Tour
	found cluster.Found
	err   error
}

// findNames looks for names that nobody has, before the walk makes anything. If clear is set it first deletes
// objects of earlier runs, as the person chose.
func (w *Walk) findNames(clear bool) tea.Cmd {
	w.busy = true
	node := w.Info.GetNode()
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(w.ctx, jobTime)
		defer cancel()
		var n named
		if clear {
			if n.err = w.Run.Clear(ctx); n.err != nil {
				return Msg{w, n}
			}
		}
		n.tour, n.found, n.err = w.Run.Take(ctx, w.written, node)
		return Msg{w, n}
	}
}

// takeNames begins the walk with the names that it may take. Objects of earlier runs are deleted only if the person
// wants that.
func (w *Walk) takeNames(n named) tea.Cmd {
	if w.ended {
		return nil
	}
	w.busy = false
	if n.err != nil {
		if !errors.Is(n.err, context.Canceled) {
			w.err = w.text(reason.Error(n.err))
		}
		return nil
	}
	if len(n.found.Left) == 0 {
		return w.begin(n)
	}
	w.Desk.Ask(&ask.Dialog{
		Title: w.text(words.Text("Delete what an earlier walk made?", "删除之前的导览创建的内容？")),
		Text: append(append([]string{
			w.text(words.Text("This is there, and has the label of a walk. Somebody may be taking that walk now.", "以下内容带有导览的标签。可能有人正在进行那次导览。")), "",
		}, n.found.Left...), "", w.text(words.Text("If it is kept, this walk takes other names.", "如果保留，这次导览会换用别的名字。"))),
		Buttons: []string{w.text(words.Text("Keep", "保留")), w.text(words.Text("Delete", "删除"))},
		Chose: func(button int) tea.Cmd {
			switch {
			case w.ended:
				return nil
			case button == 1:
				return w.findNames(true)
			}
			return w.begin(n)
		},
	})
	return nil
}

// begin goes to the first stop of the walk, which now has its names.
func (w *Walk) begin(n named) tea.Cmd {
	w.setTour(n.tour)
	if taken := n.found.Taken; len(taken) > 0 {
		w.Desk.Notice(w.textf(words.Text("taken already: %s; this walk leaves that alone and uses %s", "已被占用：%s；这次导览不会动它们，改用 %s"),
			strings.Join(taken, ", "), w.tour.Pod))
	}
	return w.goTo(0, nil)
}

// crowd lists the pods that may suffer from a shortage on the node.
type crowd struct {
	pods []string
	err  error
}

// findOthers looks for pods of others, before the walk makes the node short of something.
func (w *Walk) findOthers() tea.Cmd {
	w.busy = true
	return func() tea.Msg {
		ctx, cancel := w.within()
		defer cancel()
		pods, err := w.Run.Others(ctx)
		return Msg{w, crowd{pods, err}}
	}
}

// maxOthers bounds how many pods a question names.
const maxOthers = 8

// takeOthers makes the node short of something, if no pods of others are on it, or if the person wants it all the
// same.
func (w *Walk) takeOthers(c crowd) tea.Cmd {
	if w.ended {
		return nil
	}
	w.busy = false
	if c.err != nil {
		w.err = w.text(reason.Error(c.err))
		return nil
	}
	if len(c.pods) == 0 {
		w.asked = true
		return w.Next()
	}
	shown := c.pods
	if len(shown) > maxOthers {
		shown = append(shown[:maxOthers:maxOthers], "...")
	}
	w.Desk.Ask(&ask.Dialog{
		Title: w.text(words.Text("Make the node short of memory?", "让节点内存不足？")),
		Text: append([]string{w.textf(words.Text("The kubelet may evict other pods too. Pods on the node that this walk did not make (%d):",
			"kubelet 也可能驱逐别的 Pod。节点上不是这次导览创建的 Pod（%d 个）："), len(c.pods)), ""}, shown...),
		Buttons: []string{w.text(words.Text("Not now", "暂不")), w.text(words.Text("Go on", "继续"))},
		Danger:  true,
		Chose: func(button int) tea.Cmd {
			if button != 1 || w.ended {
				return nil
			}
			w.asked = true
			return w.Next()
		},
	})
	return nil
}
