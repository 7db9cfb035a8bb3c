package tui

import (
	"context"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/ask"
	"github.com/podstep/podstep/tui/marks"
	"github.com/podstep/podstep/tui/session"
	"github.com/podstep/podstep/tui/view"
)

// stepping returns the action for a way of stepping.
func stepping(id string, mode agentpb.StepMode, wanted int, title, hint text, keys ...string) action {
	return action{
		id: id, keys: keys, group: groupStep, title: title, hint: hint,
		rank: rankMode(mode, wanted), off: offMode(mode), moves: (*Model).targetName,
		do: func(m *Model) tea.Cmd {
			if m.marked.Len() > 0 {
				return m.stepMarked(mode, title)
			}
			return m.step(m.heldHere(), &agentpb.StepRequest{Mode: mode}, title)
		},
	}
}

var stepActions = []action{
	stepping("step.into", agentpb.StepMode_INTO, 90, words.Text("Step into the next call", "单步进入下一个调用"), words.Text("step", "单步"), "s"),
	stepping("step.over", agentpb.StepMode_OVER, 88, words.Text("Step over what this call does", "单步越过当前调用"), words.Text("over", "越过"), "o", "n"),
	stepping("step.out", agentpb.StepMode_OUT, 60, words.Text("Step out of this call", "单步跳出当前调用"), words.Text("out", "跳出"), "O"),
	stepping("step.cri", agentpb.StepMode_NEXT_CRI, 86, words.Text("To the next call to the runtime (CRI)", "到下一个运行时调用（CRI）"), words.Text("next CRI call", "下个 CRI 调用"), "i"),
	stepping("step.stage", agentpb.StepMode_NEXT_STAGE, 50, words.Text("To the next stage", "到下一个阶段"), words.Text("next stage", "下个阶段"), "S"),
	stepping("step.sync", agentpb.StepMode_NEXT_SYNC, 40, words.Text("To the next turn of the pod's worker", "到 Pod worker 的下一轮"), words.Text("next sync", "下一轮"), "y"),
	{id: "step.until", keys: []string{"u"}, group: groupStep, title: words.Text("Go on until a step", "一直执行到某个步骤"), hint: words.Text("until", "直到"),
		rank: rankHeld(45), off: offNotHeld, moves: (*Model).heldName, do: (*Model).askUntil},
	{id: "step.continue", keys: []string{"c"}, group: groupStep, title: words.Text("Let this pod go on", "放行这个 Pod"), hint: words.Text("let go", "放行"),
		rank: rankHeld(92), off: offNoTarget, moves: (*Model).targetName, do: (*Model).letGo},
}

// offNoAgent returns why nothing can be done to pods at all.
func offNoAgent(m *Model) text {
	switch {
	case m.control == nil:
		return words.Text("a trace file is a recording", "跟踪文件只是录制")
	case !m.linked:
		return words.Text("the agent is not there", "代理不在")
	}
	return text{}
}

// offNoHolds returns why no pod can be held or let go.
func offNoHolds(m *Model) text {
	if why := offNoAgent(m); why != (text{}) || !m.info.GetReadOnly() {
		return why
	}
	return words.Text("the agent is read-only: it holds no pod for anybody", "代理是只读的：不为任何人停住 Pod")
}

func offNotHeld(m *Model) text {
	if why := offNoHolds(m); why != (text{}) {
		return why
	}
	if m.pending != nil {
		return words.Text("the pod is on its way; {key:leave.out} stops waiting", "Pod 正在途中；按 {key:leave.out} 停止等待")
	}
	if _, ok := m.selected(); !ok {
		return words.Text("no pod is selected", "没有选中 Pod")
	}
	if m.heldHere() == nil {
		return words.Text("the selected pod is not held; {key:hold.pod} holds it", "选中的 Pod 没有被停住；按 {key:hold.pod} 停住它")
	}
	return text{}
}

// offNoTarget is offNotHeld for an action that acts on the marked pods if there are any.
func offNoTarget(m *Model) text {
	if m.marked.Len() == 0 {
		return offNotHeld(m)
	}
	if why := offNoHolds(m); why != (text{}) {
		return why
	}
	if m.pending != nil {
		return words.Text("pods are on their way; {key:leave.out} stops waiting", "Pod 正在途中；按 {key:leave.out} 停止等待")
	}
	if len(m.markedHolds()) == 0 {
		return words.Text("no marked pod is held; {key:hold.pod} holds them, {key:leave.out} unmarks them", "已标记的 Pod 都没有停住；按 {key:hold.pod} 停住它们，{key:leave.out} 取消标记")
	}
	return text{}
}

// targetName names the pods on which the keys for stepping and letting go act.
func (m *Model) targetName() string {
	if m.marked.Len() == 0 {
		return m.heldName()
	}
	if n := len(m.markedHolds()); n > 0 {
		return m.textf(words.Text("%d marked", "已标记的 %d 个"), n)
	}
	return ""
}

// stepMarked lets the marked pods that are held go on to their next places.
func (m *Model) stepMarked(mode agentpb.StepMode, what text) tea.Cmd {
	holds := m.markedHolds()
	return doWithEach(m, m.textf(words.Text("%d marked pods go on: %s", "已标记的 %d 个 Pod 继续：%s"), len(holds), m.text(what)), holds, nameOfHold,
		func(ctx context.Context, c session.Control, h *agentpb.HoldInfo) (*agentpb.HoldInfo, error) {
			return c.Step(ctx, &agentpb.StepRequest{Mode: mode, Pods: session.Only(h.GetPod())})
		})
}

// letMarkedGo lets those of the marked pods go that are held.
func (m *Model) letMarkedGo() tea.Cmd {
	holds := m.markedHolds()
	return m.act(m.textf(words.Text("%d marked pods go on", "已放行 %d 个已标记的 Pod"), len(holds)), func(ctx context.Context, c session.Control) error {
		_, err := marks.Each(ctx, holds, nameOfHold, func(ctx context.Context, h *agentpb.HoldInfo) (int, error) {
			let, err := c.Continue(ctx, &agentpb.ContinueRequest{Pods: session.Only(h.GetPod())})
			return len(let), err
		})
		return err
	})
}

// modeNeeds lists the ways of stepping that need a probe which sees more than calls to the runtime. why says why
// other probes do not do.
var modeNeeds = map[agentpb.StepMode]struct {
	sees func(probes.Knows) bool
	why  text
}{
	agentpb.StepMode_OUT:        {seesNesting, words.Text("from outside the kubelet no call is seen to be in another; {key:step.into} goes to the next", "从 kubelet 外部看，调用互不嵌套；按 {key:step.into} 到下一个调用")},
	agentpb.StepMode_NEXT_STAGE: {seesNesting, words.Text("from outside the kubelet a pod is held at calls to the runtime only; {key:step.into} goes to the next", "从 kubelet 外部只能停在运行时调用处；按 {key:step.into} 到下一个调用")},
	agentpb.StepMode_NEXT_SYNC:  {seesTurns, words.Text("turns of the worker are not seen from outside the kubelet; {key:step.into} goes to the next call", "从 kubelet 外部看不到 worker 的轮次；按 {key:step.into} 到下一个调用")},
}

func seesNesting(k probes.Knows) bool { return k.Nesting }
func seesTurns(k probes.Knows) bool   { return k.Turns }

// offSeen returns why the present probes do not allow a way of stepping.
func (m *Model) offSeen(mode agentpb.StepMode) text {
	if need, ok := modeNeeds[mode]; ok && !need.sees(m.state.Knows()) {
		return need.why
	}
	return text{}
}

// offMode returns why a pod cannot go on in a way of stepping.
func offMode(mode agentpb.StepMode) func(*Model) text {
	return func(m *Model) text {
		if why := offNoTarget(m); why != (text{}) {
			return why
		}
		return m.offSeen(mode)
	}
}

// rankMode ranks a way of stepping while the selected pod is held, if that way is possible here at all.
func rankMode(mode agentpb.StepMode, n int) func(*Model) int {
	held := rankHeld(n)
	return func(m *Model) int {
		if m.offSeen(mode) != (text{}) {
			return 0
		}
		return held(m)
	}
}

// rankHeld ranks an action while the selected pod is held.
func rankHeld(n int) func(*Model) int {
	return func(m *Model) int {
		if m.control != nil && (m.heldHere() != nil || len(m.markedHolds()) > 0) {
			return n
		}
		return 0
	}
}

// step lets the pod of a hold go on to its next place, in the way that the request's mode says.
func (m *Model) step(h *agentpb.HoldInfo, req *agentpb.StepRequest, what text) tea.Cmd {
	if h == nil {
		return nil
	}
	req.Pods = session.Only(h.GetPod())
	name := podName(h.GetPod())
	return m.awaitHold(m.textf(words.Text("%s goes on: %s", "%s 继续：%s"), name, m.text(what)),
		func(ctx context.Context, c session.Control) (*agentpb.HoldInfo, error) { return c.Step(ctx, req) })
}

func (m *Model) letGo() tea.Cmd {
	if m.marked.Len() > 0 {
		return m.letMarkedGo()
	}
	h := m.heldHere()
	if h == nil {
		return nil
	}
	req := &agentpb.ContinueRequest{Pods: session.Only(h.GetPod())}
	return m.act(m.textf(words.Text("%s goes on", "%s 已放行"), podName(h.GetPod())), func(ctx context.Context, c session.Control) error {
		_, err := c.Continue(ctx, req)
		return err
	})
}

// askUntil asks for the name of a step. The pod is the one that is selected now, even if another one is selected by
// the time the name is typed.
func (m *Model) askUntil() tea.Cmd {
	h := m.heldHere()
	if h == nil {
		return nil
	}
	m.input = ask.NewInput(m.textf(words.Text("%s until step", "%s 直到步骤"), view.ShortName(h.GetPod().GetName(), m.frame.styles)), "", m.completeStep, func(name string) (tea.Cmd, error) {
		if err := m.checkStep(name); err != nil {
			return nil, err
		}
		if err := m.checkHold(name); err != nil {
			return nil, err
		}
		return m.step(h, &agentpb.StepRequest{Mode: agentpb.StepMode_UNTIL, Until: name}, words.Text("until "+name, "直到 "+name)), nil
	})
	return nil
}

func podName(p *agentpb.Pod) string { return wire.PodOf(p).NamespacedName() }
