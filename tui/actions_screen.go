package tui

import (
	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/probes/words"
)

// resizePercent is how much of the width a key gives to a pane or takes.
const resizePercent = 4

var screenActions = []action{
	{id: "screen.palette", keys: []string{":", "ctrl+p"}, group: groupScreen, title: words.Text("All commands, pods and steps", "所有命令、Pod 和步骤"),
		hint: words.Text("commands", "命令"), rank: rank(24), do: (*Model).openPalette},
	{id: "screen.help", keys: []string{"?", "f1"}, group: groupScreen, title: words.Text("Help", "帮助"), do: (*Model).openHelp},
	{id: "screen.zoom", keys: []string{"z"}, group: groupScreen, title: words.Text("Only this pane, or all", "只看此窗格，或全部"),
		do: intent(func(m *Model) { m.state.ToggleZoom() })},
	{id: "screen.narrower", keys: []string{"<"}, group: groupScreen, title: words.Text("Narrower list of pods", "缩窄 Pod 列表"),
		do: intent(func(m *Model) { m.state.Resize(-resizePercent) })},
	{id: "screen.wider", keys: []string{">"}, group: groupScreen, title: words.Text("Wider list of pods", "加宽 Pod 列表"),
		do: intent(func(m *Model) { m.state.Resize(resizePercent) })},
	{id: "screen.mouse", keys: []string{"M"}, group: groupScreen, title: words.Text("Mouse on or off", "开关鼠标"), do: (*Model).toggleMouse},
	{id: "screen.lang", keys: []string{"L"}, group: groupScreen, title: words.Text("中文", "English"), do: (*Model).switchLang},
	{id: "screen.theme", keys: []string{"ctrl+t"}, group: groupScreen, title: words.Text("Next theme: dark, light, high contrast", "切换主题：深色、浅色、高对比"),
		do: intent((*Model).nextTheme)},
	{id: "screen.redraw", keys: []string{"ctrl+l"}, group: groupScreen, title: words.Text("Redraw the screen", "重绘屏幕"),
		do: func(*Model) tea.Cmd { return tea.ClearScreen }},
}

var leaveActions = []action{
	{id: "leave.out", keys: []string{"esc"}, group: groupLeave, title: words.Text("One level out; never ends podstep", "返回上一级；不会退出"),
		do: (*Model).out},
	{id: "leave.quit", keys: []string{"q"}, group: groupLeave, title: words.Text("End podstep and its holds; asks first if more would end", "退出并放行停住的 Pod；有东西会结束时先询问"), do: (*Model).quit},
	{id: "leave.interrupt", keys: []string{"ctrl+c"}, group: groupLeave, title: words.Text("End podstep from anywhere; asks as q does, but only once", "随时退出；像 q 一样先询问，再按一次不再询问"), do: (*Model).quit},
}

func (m *Model) toggleMouse() tea.Cmd {
	m.mouse = !m.mouse
	if m.mouse {
		m.notice(m.text(words.Text("the mouse is on; hold Shift to select text", "鼠标已启用；按住 Shift 可选择文本")))
	} else {
		m.notice(m.text(words.Text("the mouse is off", "鼠标已关闭")))
	}
	return nil
}

func (m *Model) switchLang() tea.Cmd {
	m.lang = otherLang(m.lang)
	m.state.SetLang(m.lang)
	m.showLink()
	return nil
}

func otherLang(l words.Lang) words.Lang {
	if l == words.Chinese {
		return words.English
	}
	return words.Chinese
}

// out goes one level out: from what is on top to what is below.
func (m *Model) out() tea.Cmd {
	switch {
	case m.pending != nil:
		m.stopWaiting()
	case m.filter != "":
		_ = m.setFilter("")
	case m.zoomed():
		m.state.ToggleZoom()
	default:
		m.state.Back()
	}
	return nil
}
