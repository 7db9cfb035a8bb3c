package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/about"
	"github.com/podstep/podstep/tui/ask"
	"github.com/podstep/podstep/tui/compare"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/stack"
)

var lookActions = []action{
	{id: "look.pipeline", keys: []string{"p"}, group: groupLook, title: words.Text("Pipeline of the pod", "Pod 的流水线"),
		hint: words.Text("pipeline", "流水线"), rank: rankUnless(screen.MainStory, 57), do: show(screen.MainStory)},
	{id: "look.timeline", keys: []string{"t"}, group: groupLook, title: words.Text("Timeline", "时间线"),
		hint: words.Text("timeline", "时间线"), rank: rankUnless(screen.MainTimeline, 30), do: show(screen.MainTimeline)},
	{id: "look.events", keys: []string{"e"}, group: groupLook, title: words.Text("Events", "事件"),
		hint: words.Text("events", "事件"), rank: rankUnless(screen.MainEvents, 25), do: show(screen.MainEvents)},
	{id: "look.top", keys: []string{"d"}, group: groupLook, title: words.Text("Durations of the steps", "各步骤的耗时"),
		hint: words.Text("durations", "耗时"), rank: rankUnless(screen.MainTop, 24), do: show(screen.MainTop)},
	{id: "look.why", keys: []string{"w"}, group: groupLook, title: words.Text("Why the pod is where it is", "Pod 为什么停在这里"),
		hint: words.Text("why", "为什么"), rank: rankUnless(screen.MainWhy, 28), do: (*Model).showWhy},
	{id: "why.walk", keys: []string{"enter"}, scope: inWhy, group: groupLook, title: words.Text("Walk through this part of the pipeline", "跟着导览走这一段流水线"),
		hint: words.Text("walk", "导览"), rank: rank(58), do: (*Model).causeWalk},
	{id: "look.stack", keys: []string{"V"}, group: groupLook, title: words.Text("Stack and variables where the pod is held, or the last stack that a breakpoint kept", "Pod 停住处的调用栈与变量，或断点最后保存的调用栈"),
		hint: words.Text("stack", "调用栈"), rank: rankStack, off: offNoStack, moves: (*Model).selectedName, do: (*Model).openStack},
	{id: "look.compare", keys: []string{"D"}, group: groupLook, title: compare.Title,
		off: offOnePod, moves: (*Model).selectedName, do: (*Model).openCompare},
	{id: "look.pod", keys: []string{"K"}, group: groupLook, title: words.Text("The pod as the kubelet has it", "kubelet 所持的 Pod 对象"),
		off: offNobody, do: openAbout(about.Object)},
	{id: "look.logs", keys: []string{"P"}, group: groupLook, title: words.Text("Last lines that the pod's containers printed", "Pod 的容器最后输出的几行日志"),
		hint: words.Text("log", "日志"), rank: rankLog, off: offNobody, do: openAbout(about.Logs)},
	{id: "look.podevents", keys: []string{"X"}, group: groupLook, title: words.Text("The pod's events at the API server", "API server 上这个 Pod 的事件"),
		off: offNobody, do: openAbout(about.Events)},
	{id: "look.filter", keys: []string{"/"}, group: groupLook, title: words.Text("Filter events and pods", "过滤事件和 Pod"),
		hint: words.Text("filter", "过滤"), rank: rank(22), do: (*Model).askFilter},
	{id: "look.freeze", keys: []string{"f"}, group: groupLook, title: words.Text("Freeze what is shown, or go on", "冻结或恢复画面"),
		do: intent(func(m *Model) { m.state.ToggleFreeze() })},
	{id: "look.follow", keys: []string{"F"}, group: groupLook, title: words.Text("Follow the current step", "跟随当前步骤"),
		do: intent(func(m *Model) { m.state.ToggleFollow() })},
	{id: "time.in", keys: []string{"+", "="}, scope: inTimeline, group: groupLook, title: words.Text("Zoom into the time", "放大时间"),
		hint: words.Text("zoom in", "放大"), rank: rank(60), do: intent(func(m *Model) { m.state.ZoomTime(0.5) })},
	{id: "time.out", keys: []string{"-"}, scope: inTimeline, group: groupLook, title: words.Text("Zoom out of the time", "缩小时间"),
		hint: words.Text("zoom out", "缩小"), rank: rank(59), do: intent(func(m *Model) { m.state.ZoomTime(2) })},
	{id: "time.many", keys: []string{"m"}, scope: inTimeline, group: groupLook, title: words.Text("One pod, or all pods", "单个 Pod 或所有 Pod"),
		hint: words.Text("all pods", "所有 Pod"), rank: rank(58), brief: (*Model).oneOrAll, do: intent(func(m *Model) { m.state.ToggleMany() })},
	{id: "events.many", keys: []string{"m"}, scope: inEvents, group: groupLook, title: words.Text("Events of one pod, or of all pods", "单个 Pod 或所有 Pod 的事件"),
		hint: words.Text("all pods", "所有 Pod"), rank: rank(58), brief: (*Model).oneOrAll, do: intent(func(m *Model) { m.state.ToggleManyEvents() })},
	{id: "top.many", keys: []string{"m"}, scope: inTop, group: groupLook, title: words.Text("Durations in one pod, or in all pods", "单个 Pod 或所有 Pod 的耗时"),
		hint: words.Text("all pods", "所有 Pod"), rank: rank(58), brief: (*Model).oneOrAll, do: intent(func(m *Model) { m.state.ToggleManyTop() })},
	{id: "top.order", keys: []string{"a"}, scope: inTop, group: groupLook, title: words.Text("Next order of the durations: p99, total, calls, longest, errors", "切换耗时的排序：p99、总时长、次数、最长、失败次数"),
		hint: words.Text("order", "排序"), rank: rank(57), do: intent(func(m *Model) { m.state.NextTopOrder() })},
	{id: "look.record", keys: []string{"r"}, group: groupLook, title: words.Text("Record to a file, or stop that", "录制到文件，或停止录制"),
		off: offNoAgent, do: (*Model).toggleRecord},
	{id: "look.copy", keys: []string{"Y"}, group: groupLook, title: words.Text("Copy what is selected", "复制选中内容"),
		do: (*Model).copySelected},
}

// rankUnless returns a rank for an action that leads to a view: n, while another view is shown.
func rankUnless(what screen.Main, n int) func(*Model) int {
	return func(m *Model) int {
		if m.main() == what {
			return 0
		}
		return n
	}
}

func show(what screen.Main) func(*Model) tea.Cmd {
	return intent(func(m *Model) { m.state.SetMain(what) })
}

// open opens the selected row, or goes into it.
func (m *Model) open() {
	if m.state.WorstForgotten() {
		m.notice(m.text(words.Text("the events of the longest call are forgotten; it cannot be shown any more", "最长那次调用的事件已被遗忘，无法再显示")))
		return
	}
	m.state.Open()
}

// showWhy shows the causes, and asks about them at once.
func (m *Model) showWhy() tea.Cmd {
	m.state.SetMain(screen.MainWhy)
	m.frame.touch()
	return m.gather()
}

// rankStack ranks the action that shows the stack, while the selected pod is held and a debugger works.
func rankStack(m *Model) int {
	for _, p := range m.info.GetProbes() {
		switch p.GetState() {
		case agentpb.ProbeState_PROBE_FAILED, agentpb.ProbeState_PROBE_STOPPED:
			continue
		}
		if p.GetName() == debugger {
			return rankHeld(87)(m)
		}
	}
	return 0
}

// debugger is the name of the probe that has stacks and variables.
const debugger = "delve"

// openStack asks a debugger about the selected pod, which is held, or shows the last stack that a breakpoint kept.
func (m *Model) openStack() tea.Cmd {
	h := m.heldHere()
	if h == nil {
		if e, frames := m.state.LastStack(); frames != nil {
			m.push(stack.NewKept(stackDesk{m}, e, frames))
		}
		return nil
	}
	p, cmd := stack.Open(m.ctx, stackDesk{m}, m.control, h)
	m.push(p)
	return cmd
}

// offNoStack returns why there is no stack to show.
func offNoStack(m *Model) text {
	if _, frames := m.state.LastStack(); frames != nil {
		return text{}
	}
	return offNotHeld(m)
}

// openCompare asks with which pod to compare the selected one, and shows both.
func (m *Model) openCompare() tea.Cmd {
	one, _, ok := m.state.Selected()
	if !ok {
		return nil
	}
	m.push(compare.Others(m.lang, one, m.pods(), func(other screen.PodKey) tea.Cmd {
		if p := compare.NewPage(m.lang, m.state, one, other); p != nil {
			m.push(p)
		}
		return nil
	}))
	return nil
}

// offOnePod returns why there are no two pods to compare.
func offOnePod(m *Model) text {
	if _, ok := m.selected(); !ok {
		return words.Text("no pod is selected", "没有选中 Pod")
	}
	if m.state.Pods() < 2 {
		return words.Text("there is no other pod", "没有别的 Pod")
	}
	return text{}
}

// offNobody returns why nothing can be asked about the selected pod.
func offNobody(m *Model) text {
	switch {
	case m.control == nil:
		return words.Text("a trace file is a recording", "跟踪文件只是录制")
	case m.opts.About == nil:
		return words.Text("neither the kubelet nor the API server can be asked from here; see --kubeconfig", "从这里无法询问 kubelet 或 API server；见 --kubeconfig")
	}
	return offNoPod(m)
}

// rankLog ranks the logs high if the selected pod is in trouble.
func rankLog(m *Model) int {
	if m.opts.About == nil || m.control == nil {
		return 0
	}
	switch m.screen().Why.Mark {
	case life.Stuck, life.Retrying:
		return 59
	}
	return 0
}

// openAbout asks about the selected pod, and shows the answer on a page.
func openAbout(what about.What) func(*Model) tea.Cmd {
	return func(m *Model) tea.Cmd {
		pod, ok := m.selected()
		if !ok {
			return nil
		}
		p, cmd := about.Open(m.ctx, m.lang, m.opts.About, what, evidence.Name{Namespace: pod.Namespace, Name: pod.Name})
		m.push(p)
		return cmd
	}
}

// stackDesk gives a stack what it needs of the screen.
type stackDesk struct{ m *Model }

func (d stackDesk) Text(t probes.Text) string     { return d.m.text(t) }
func (d stackDesk) Held(h *agentpb.HoldInfo) bool { return d.m.holdGoesOn(h) }

func (d stackDesk) Kubelet() string { return d.m.info.GetKubeletVersion() }

func (d stackDesk) Point(file string, line int) screen.Point { return d.m.state.PointAt(file, line) }

func (d stackDesk) CanLog() bool { return offNoLogs(d.m) == text{} && d.m.looksInside() }

func (d stackDesk) Log(place string) { d.m.pushLog(place) }

func (d stackDesk) Refused(p *stack.Page, err error) {
	d.m.layers = slices.DeleteFunc(d.m.layers, func(l *layered) bool { return l.Layer == p })
	d.m.fail(err)
}

func (m *Model) askFilter() tea.Cmd {
	was := m.filter
	in := ask.NewInput(m.text(words.Text("filter", "过滤")), was, m.completeFilter, func(expr string) (tea.Cmd, error) {
		err := m.setFilter(expr)
		if err != nil {
			_ = m.setFilter(was) // not what was typed before the error
		}
		return nil, err
	})
	// What is typed takes effect at once, except text that is no filter yet.
	in.Typed = m.setFilter
	in.Left = func(was string) { _ = m.setFilter(was) }
	in.Help = filterHelp(m.lang)
	m.input = in
	return nil
}

func (m *Model) setFilter(expr string) error {
	expr = strings.TrimSpace(expr)
	if err := m.state.SetFilter(expr); err != nil {
		return err
	}
	m.filter = expr
	return nil
}

// copySelected copies the selected thing to the terminal's clipboard (OSC 52).
func (m *Model) copySelected() tea.Cmd {
	s := m.screen()
	var lines []string
	switch {
	case s.Focus == screen.PaneDetail && s.Detail != nil:
		lines = detailText(s.Detail)
	case s.Focus == screen.PaneMain && s.Body != nil && s.Body.Copied() != "":
		lines = append(lines, s.Body.Copied())
	default:
		if pod, ok := m.selected(); ok {
			lines = append(lines, pod.NamespacedName())
		}
	}
	if len(lines) == 0 {
		m.notice(m.text(words.Text("nothing is selected", "没有选中任何内容")))
		return nil
	}
	m.notice(m.textf(words.Text("copied: %s", "已复制：%s"), lines[0]))
	return tea.SetClipboard(strings.Join(lines, "\n"))
}

func inRange(i, n int) bool { return i >= 0 && i < n }

// detailText returns a step's detail as plain lines.
func detailText(d *screen.Detail) []string {
	lines := []string{d.Step + " " + d.Title}
	for _, v := range append(append([]screen.Value{}, d.Args...), d.Results...) {
		lines = append(lines, v.Name+": "+v.Text)
	}
	lines = append(lines, d.Request...)
	lines = append(lines, d.Response...)
	if d.Error != "" {
		lines = append(lines, d.Error)
	}
	return lines
}
