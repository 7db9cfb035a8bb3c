package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/ask"
	"github.com/podstep/podstep/tui/marks"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/session"
)

var holdActions = []action{
	{id: "hold.pod", keys: []string{"H"}, group: groupHold, title: words.Text("Hold the selected pod at its next step", "在下一步停住选中的 Pod"),
		hint: words.Text("hold", "停住"), rank: rankFree(70), off: offHold, moves: (*Model).holdName, do: (*Model).askHold},
	{id: "hold.mark", keys: []string{"space"}, group: groupHold, title: words.Text("Mark the pod, or unmark it: keys that hold, step and let go act on all marked pods", "标记或取消标记 Pod：停住、单步与放行会作用于所有已标记的 Pod"),
		off: offNoPod, do: intent((*Model).mark)},
	{id: "hold.release", keys: []string{"R", "C"}, group: groupHold, title: words.Text("Let all pods go on", "放行所有 Pod"),
		hint: words.Text("let all go", "全部放行"), rank: rankMany, off: offNoHolds, moves: (*Model).allHeldNames, brief: (*Model).letAllGo, do: (*Model).releaseAll},
	{id: "hold.retry", keys: []string{"U"}, group: groupHold, title: words.Text("Have the kubelet try the pod again now: sync it and end its back-offs", "让 kubelet 现在重试这个 Pod：同步它并结束退避"),
		hint: words.Text("try now", "重试"), rank: rankRetry, off: offRetry, do: (*Model).retry},
	{id: "break.add", keys: []string{"b"}, group: groupHold, title: words.Text("Add a breakpoint, also for pods to come", "添加断点，也适用于将来的 Pod"),
		hint: words.Text("break", "断点"), rank: rankFree(72), off: offNoHolds, do: (*Model).askBreak},
	{id: "break.list", keys: []string{"B"}, group: groupHold, title: words.Text("Breakpoints", "断点列表"),
		do: intent(func(m *Model) { m.state.SetMain(screen.MainBreaks) })},
	{id: "break.remove", keys: []string{"x", "delete"}, scope: inBreaks, group: groupHold, title: words.Text("Remove the breakpoint", "删除断点"),
		hint: words.Text("remove", "删除"), rank: rank(80), off: offNoHolds, do: (*Model).removeBreak},
}

// rankFree ranks an action while the selected pod is not held.
func rankFree(n int) func(*Model) int {
	return func(m *Model) int {
		if m.control != nil && (m.heldHere() == nil || m.marked.Len() > 0) {
			return n
		}
		return 0
	}
}

func rankMany(m *Model) int {
	switch len(m.holds) {
	case 0:
		return 0
	case 1:
		return 35
	}
	return 93
}

func offHold(m *Model) text {
	if why := offNoHolds(m); why != (text{}) {
		return why
	}
	if m.pending != nil {
		return words.Text("another pod is waited for; {key:leave.out} stops that", "正在等待另一个 Pod；按 {key:leave.out} 停止")
	}
	if m.marked.Len() > 0 {
		return text{}
	}
	if _, ok := m.selected(); !ok {
		return words.Text("no pod is selected; {key:break.add} is for pods to come", "没有选中 Pod；将来的 Pod 用 {key:break.add}")
	}
	if m.screen().Why.Mark == life.Gone {
		return words.Text("the pod is gone", "这个 Pod 已消失")
	}
	if m.heldHere() != nil {
		return words.Text("it is held already", "它已经被停住")
	}
	return text{}
}

// askHold asks before it holds the pod. The question names the pod, the node, and what will wait.
func (m *Model) askHold() tea.Cmd {
	if m.marked.Len() > 0 {
		return m.askHoldMarked()
	}
	pod, ok := m.selected()
	if !ok {
		return nil
	}
	name := pod.NamespacedName()
	hold := func() tea.Cmd {
		what := m.textf(words.Text("waiting for %s to come to a step", "等待 %s 到达某个步骤"), name)
		return m.awaitHold(what, func(ctx context.Context, c session.Control) (*agentpb.HoldInfo, error) {
			return c.Hold(ctx, &agentpb.HoldRequest{Pods: podSelector(pod)})
		})
	}
	if m.inLab() {
		return hold()
	}
	m.push(&ask.Dialog{
		Title: m.textf(words.Text("Hold %s?", "停住 %s？"), name),
		Text: []string{
			m.textf(words.Text("The pod %s on node %s stops at its next step and waits there. All other pods go on.", "节点 %[2]s 上的 Pod %[1]s 会停在它的下一步并在那里等待。其他 Pod 照常运行。"), name, m.node()),
			m.text(words.Text("It goes on when you let it, when podstep ends, or by itself before a timer of the kubelet runs out.", "你放行、podstep 退出，或 kubelet 的某个计时器即将到期时，它会继续。")),
		},
		Danger:  true,
		Buttons: []string{m.text(words.Text("Cancel", "取消")), m.text(words.Text("Hold", "停住"))},
		Chose: func(button int) tea.Cmd {
			if button != 1 {
				return nil
			}
			return hold()
		},
	})
	return nil
}

// releaseAll lets everything go, whoever held it.
func (m *Model) releaseAll() tea.Cmd {
	m.stopWaiting()
	lang := m.lang
	return func() tea.Msg {
		ctx, cancel := m.within()
		defer cancel()
		let, err := m.control.Continue(ctx, &agentpb.ContinueRequest{All: true})
		message := lang.In(words.Text("no pod was held", "没有被停住的 Pod"))
		switch len(let) {
		case 0:
		case 1:
			message = lang.In(words.Text("1 pod goes on", "已放行 1 个 Pod"))
		default:
			message = fmt.Sprintf(lang.In(words.Text("%d pods go on", "已放行 %d 个 Pod")), len(let))
		}
		return doneMsg{text: message, err: err}
	}
}

func (m *Model) removeBreak() tea.Cmd {
	id, ok := m.selectedBreak()
	if !ok {
		m.notice(m.text(words.Text("no breakpoint is selected", "没有选中断点")))
		return nil
	}
	m.state.LeaveBreak()
	return m.act(m.textf(words.Text("breakpoint %d is gone", "断点 %d 已删除"), id), func(ctx context.Context, c session.Control) error {
		return c.RemoveBreakpoint(ctx, id)
	})
}

// mark marks the selected pod, or takes its mark away.
func (m *Model) mark() {
	if pod, ok := m.selected(); ok {
		m.marked.Toggle(*pod)
	}
	if n := m.marked.Len(); n > 0 {
		m.notice(m.textf(words.Text("marked pods: %d; holding, stepping and letting go act on them, {key:leave.out} unmarks all", "已标记 %d 个 Pod；停住、单步与放行会作用于它们，{key:leave.out} 取消全部标记"), n))
	}
}

func offNoPod(m *Model) text {
	if _, ok := m.selected(); !ok {
		return words.Text("no pod is selected", "没有选中 Pod")
	}
	return text{}
}

// holdName names the pods that H holds.
func (m *Model) holdName() string {
	if n := m.marked.Len(); n > 0 {
		return m.textf(words.Text("%d marked", "已标记的 %d 个"), n)
	}
	return m.selectedName()
}

// inLab reports whether the node is a lab's: a hold harms nobody there, so nobody is asked before it.
func (m *Model) inLab() bool { return m.opts.Lab || m.info.GetLab() }

func podSelector(p *probes.Pod) *agentpb.PodSelector {
	return &agentpb.PodSelector{Namespace: p.Namespace, Name: p.Name, Uid: p.UID}
}

// askHoldMarked asks before the marked pods are stopped.
func (m *Model) askHoldMarked() tea.Cmd {
	var pods []probes.Pod
	var names []string
	for _, p := range m.marked.All() {
		if !slices.ContainsFunc(m.holds, func(h *agentpb.HoldInfo) bool { return h.GetPod().GetUid() == p.UID }) {
			pods, names = append(pods, p), append(names, p.NamespacedName())
		}
	}
	if len(pods) == 0 {
		m.notice(m.text(words.Text("all marked pods are held already", "已标记的 Pod 都已停住")))
		return nil
	}
	hold := func() tea.Cmd {
		what := m.textf(words.Text("waiting for the marked pods (%d) to come to a step", "等待 %d 个 Pod 到达某个步骤"), len(pods))
		return doWithEach(m, what, pods, probes.Pod.NamespacedName, func(ctx context.Context, c session.Control, p probes.Pod) (*agentpb.HoldInfo, error) {
			return c.Hold(ctx, &agentpb.HoldRequest{Pods: podSelector(&p)})
		})
	}
	if m.inLab() {
		return hold()
	}
	m.push(&ask.Dialog{
		Title: m.textf(words.Text("Hold the marked pods (%d)?", "停住已标记的 Pod（%d 个）？"), len(pods)),
		Text: []string{
			m.textf(words.Text("On node %s each stops at its next step and waits there: %s. All other pods go on.", "在节点 %s 上，它们各自停在下一步并等待：%s。其他 Pod 照常运行。"), m.node(), m.listNames(names)),
			m.text(words.Text("Each goes on when you let it, when podstep ends, or by itself before a timer of the kubelet trips.", "你放行、podstep 退出，或 kubelet 的某个定时器即将触发时，它们会继续。")),
		},
		Danger:  true,
		Buttons: []string{m.text(words.Text("Cancel", "取消")), m.text(words.Text("Hold", "停住"))},
		Chose: func(button int) tea.Cmd {
			if button != 1 {
				return nil
			}
			return hold()
		},
	})
	return nil
}

// manyMsg reports the result of something that was done with several pods at once.
type manyMsg struct {
	of   *pending
	held int
	err  error
}

// doWithEach does something with each of several pods or holds at once. Each do ends with a held pod. Esc gives up
// all of them.
func doWithEach[T any](m *Model, what string, all []T, name func(T) string, do func(context.Context, session.Control, T) (*agentpb.HoldInfo, error)) tea.Cmd {
	ctx, cancel := context.WithCancel(m.ctx)
	p := &pending{text: what, cancel: cancel}
	m.pending, m.shownNotice = p, nil
	control := m.control
	return func() tea.Msg {
		defer cancel()
		held, err := marks.Each(ctx, all, name, func(ctx context.Context, one T) (*agentpb.HoldInfo, error) { return do(ctx, control, one) })
		return manyMsg{p, len(held), err}
	}
}

func (m *Model) takeMany(msg manyMsg) {
	if m.pending == msg.of {
		m.pending = nil
	}
	switch {
	case errors.Is(msg.err, context.Canceled):
		m.notice(m.textf(words.Text("no longer waiting; pods held: %d", "不再等待；已停住的 Pod：%d 个"), msg.held))
	case msg.err != nil:
		m.fail(msg.err)
	default:
		m.notice(m.textf(words.Text("pods held: %d", "已停住的 Pod：%d 个"), msg.held))
	}
}

// markedHolds returns the holds of the marked pods, one of each pod.
func (m *Model) markedHolds() (out []*agentpb.HoldInfo) {
	seen := map[string]bool{}
	for _, h := range m.holds {
		if uid := h.GetPod().GetUid(); m.marked.Has(uid) && !seen[uid] {
			seen[uid] = true
			out = append(out, h)
		}
	}
	return out
}

func nameOfHold(h *agentpb.HoldInfo) string { return podName(h.GetPod()) }
