package tui

import (
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/ask"
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
	{id: "look.why", keys: []string{"w"}, group: groupLook, title: words.Text("Why the pod is where it is", "Pod 为什么停在这里"),
		hint: words.Text("why", "为什么"), rank: rankUnless(screen.MainWhy, 28), do: (*Model).showWhy},
	{id: "why.walk", keys: []string{"enter"}, scope: inWhy, group: groupLook, title: words.Text("Walk through this part of the pipeline", "跟着导览走这一段流水线"),
		hint: words.Text("walk", "导览"), rank: rank(58), do: (*Model).causeWalk},
	{id: "look.stack", keys: []string{"V"}, group: groupLook, title: words.Text("Stack and variables where the pod is held", "Pod 停住处的调用栈与变量"),
		hint: words.Text("stack", "调用栈"), rank: rankStack, off: offNotHeld, moves: (*Model).heldName, do: (*Model).openStack},
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
		hint: words.Text("all pods", "所有 Pod"), rank: rank(58), do: intent(func(m *Model) { m.state.ToggleMany() })},
	{id: "look.record", keys: []string{"r"}, group: groupLook, title: words.Text("Record to a file, or stop that", "录制到文件，或停止录制"),
		off: offNoAgent, do: (*Model).toggleRecord},
	{id: "look.copy", keys: []string{"Y"}, group: groupLook, title: words.Text("Copy what is selected", "复制选中内容"),
		do: (*Model).copySelected},
}

// rankUnless ranks what leads to a view, while another is shown.
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

// showWhy shows the causes, and asks about them at once.
func (m *Model) showWhy() tea.Cmd {
	m.state.SetMain(screen.MainWhy)
	m.frame.touch()
	return m.gather()
}

// rankStack ranks a look at the stack where the selected pod is held while a debugger works.
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

// debugger is the probe that has stacks and variables.
const debugger = "delve"

// openStack asks a debugger about the selected pod, which is held.
func (m *Model) openStack() tea.Cmd {
	h := m.heldHere()
	if h == nil {
		return nil
	}
	p, cmd := stack.Open(m.ctx, stackDesk{m}, m.control, h)
	m.push(p)
	return cmd
}

// stackDesk is the screen as a stack uses it.
type stackDesk struct{ m *Model }

func (d stackDesk) Text(t probes.Text) string     { return d.m.text(t) }
func (d stackDesk) Held(h *agentpb.HoldInfo) bool { return d.m.holdGoesOn(h) }

func (d stackDesk) Kubelet() string { return d.m.info.GetKubeletVersion() }

func (d stackDesk) Refused(p *stack.Page, err error) {
	d.m.layers = slices.DeleteFunc(d.m.layers, func(l *layered) bool { return l.Layer == p })
	d.m.fail(err)
}

func (m *Model) askFilter() tea.Cmd {
	in := ask.NewInput(m.text(words.Text("filter", "过滤")), m.filter, m.completeFilter, func(expr string) (tea.Cmd, error) {
		return nil, m.setFilter(expr)
	})
	// What is typed counts at once; what makes no sense yet does not.
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

// copySelected gives the selected thing to the terminal's clipboard (OSC 52).
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

// detailText is a step's detail as plain lines.
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
