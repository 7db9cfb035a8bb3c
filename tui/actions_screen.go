package tui

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/ask"
	"github.com/podstep/podstep/tui/picture"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/settings"
	"github.com/podstep/podstep/tui/view"
)

// resizePercent is how much of the width a key gives to a pane or takes from it.
const resizePercent = 4

// nodesAction is the action that only a screen of one node of several has.
const nodesAction = "screen.nodes"

var screenActions = []action{
	{id: "screen.palette", keys: []string{":", "ctrl+p"}, group: groupScreen, title: words.Text("All commands, pods and steps", "所有命令、Pod 和步骤"),
		hint: words.Text("commands", "命令"), rank: rank(24), do: (*Model).openPalette},
	{id: "screen.help", keys: []string{"?", "f1"}, group: groupScreen, title: words.Text("Help", "帮助"), do: (*Model).openHelp},
	{id: nodesAction, keys: []string{"ctrl+n"}, group: groupScreen, title: words.Text("The list of all nodes, if there are several", "所有节点的列表（有多个节点时）"),
		hint: words.Text("all nodes", "所有节点"), rank: rank(23), do: func(*Model) tea.Cmd { return func() tea.Msg { return toNodesMsg{} } }},
	{id: "screen.zoom", keys: []string{"z"}, group: groupScreen, title: words.Text("Only this pane, or all", "只看此窗格，或全部"),
		do: intent(func(m *Model) { m.state.ToggleZoom() })},
	{id: "screen.narrower", keys: []string{"<"}, group: groupScreen, title: words.Text("Narrower list of pods", "缩窄 Pod 列表"),
		do: intent(func(m *Model) { m.state.Resize(-resizePercent) })},
	{id: "screen.wider", keys: []string{">"}, group: groupScreen, title: words.Text("Wider list of pods", "加宽 Pod 列表"),
		do: intent(func(m *Model) { m.state.Resize(resizePercent) })},
	{id: "screen.mouse", keys: []string{"M"}, group: groupScreen, title: words.Text("Mouse on or off", "开关鼠标"), do: (*Model).toggleMouse},
	{id: "screen.lang", keys: []string{"L"}, group: groupScreen, title: words.Text("中文", "English"), do: (*Model).switchLang},
	{id: "screen.theme", keys: []string{"ctrl+t"}, group: groupScreen, title: words.Text("Next theme: dark, light, high contrast, without red and green, the terminal's own", "切换主题：深色、浅色、高对比、红绿色盲友好、终端自带"),
		do: (*Model).nextTheme},
	{id: "screen.sort", keys: []string{"A"}, group: groupScreen, title: words.Text("Next order of the pods: worst, name, newest, restarts", "切换 Pod 的排序：要紧、名称、最新、重启"),
		do: (*Model).nextSort},
	{id: "screen.gone", keys: []string{"Z"}, group: groupScreen, title: words.Text("Pods that are gone: the last ones, none, all", "已消失的 Pod：最近的、不显示、全部"), do: (*Model).nextGone},
	{id: "screen.columns", keys: []string{"I"}, group: groupScreen, title: words.Text("Columns of the list of pods", "Pod 列表的列"), do: (*Model).chooseColumns},
	{id: "screen.picture", keys: []string{"ctrl+s"}, group: groupScreen, title: words.Text("Write what is seen to a file, as a picture (SVG)", "把当前画面写成图片文件（SVG）"), do: (*Model).takePicture, onTop: true},
	{id: "screen.redraw", keys: []string{"ctrl+l"}, group: groupScreen, title: words.Text("Redraw the screen", "重绘屏幕"),
		do: func(*Model) tea.Cmd { return tea.ClearScreen }},
}

var leaveActions = []action{
	{id: "leave.out", keys: []string{"esc"}, group: groupLeave, title: words.Text("One level out; never ends podstep", "返回上一级；不会退出"),
		do: (*Model).goOut},
	{id: "leave.quit", keys: []string{"q"}, group: groupLeave, title: words.Text("End podstep and its holds; asks first if more would end", "退出并放行停住的 Pod；有东西会结束时先询问"), do: (*Model).quit},
	{id: "leave.last", keys: []string{"Q"}, group: groupLeave, title: words.Text("End podstep as {key:leave.quit} does, and leave what is seen in the terminal", "像 {key:leave.quit} 一样退出，并把当前画面留在终端里"), do: (*Model).quitLeavingFrame},
	{id: "leave.suspend", keys: []string{"ctrl+z"}, group: groupLeave, title: words.Text("Suspend podstep, while it shows a recording", "挂起 podstep（仅在查看录制时）"), do: (*Model).suspend, onTop: true},
	{id: "leave.interrupt", keys: []string{"ctrl+c"}, group: groupLeave, title: words.Text("End podstep from anywhere; asks as {key:leave.quit} does, but only once", "随时退出；像 {key:leave.quit} 一样先询问，再按一次不再询问"), do: (*Model).quit},
}

// nextGone chooses which of the pods that are gone the list shows.
func (m *Model) nextGone() tea.Cmd {
	m.notice(m.text(m.state.NextGone()))
	m.frame.touch()
	return nil
}

// suspend puts podstep into the background. A screen on a node stays: while it is stopped it renews no lease, so its holds
// would end, and where the agent runs in the same process, calls of the kubelet would wait for it.
func (m *Model) suspend() tea.Cmd {
	if m.control != nil {
		m.notice(m.text(words.Text("podstep does not go into the background here: pods that it holds would go on; {key:leave.quit} ends it", "podstep 在这里不能挂起：它停住的 Pod 会继续运行；按 {key:leave.quit} 退出")))
		return nil
	}
	return tea.Suspend
}

func (m *Model) toggleMouse() tea.Cmd {
	m.mouse = !m.mouse
	m.notice(m.text(mouseIs[m.mouse]))
	return nil
}

var mouseIs = map[bool]text{
	true:  words.Text("the mouse is on; hold Shift to select text", "鼠标已启用；按住 Shift 可选择文本"),
	false: words.Text("the mouse is off", "鼠标已关闭"),
}

func (m *Model) switchLang() tea.Cmd {
	m.lang = otherLang(m.lang)
	m.state.SetLang(m.lang)
	m.showLink()
	return m.keepSetting(settings.Language, string(m.lang))
}

func otherLang(l words.Lang) words.Lang {
	if l == words.Chinese {
		return words.English
	}
	return words.Chinese
}

// goOut goes one level out: from what is on top of the screen to what is below.
func (m *Model) goOut() tea.Cmd {
	switch {
	case m.pending != nil:
		m.stopWaiting()
	case m.find.Text() != "":
		m.find.Set("")
	case m.marked.Len() > 0:
		m.marked.Clear()
	case m.filter != "":
		_ = m.setFilter("")
	case m.zoomed():
		m.state.ToggleZoom()
	default:
		m.state.Back()
	}
	return nil
}

// keptMsg reports that a choice was written into the settings, or why not.
type keptMsg struct{ err error }

// keepSetting writes a choice into the settings.
func (m *Model) keepSetting(name string, value any) tea.Cmd {
	file := m.opts.Settings
	if file == nil {
		return nil
	}
	file.Set(name, value)
	return func() tea.Msg { return keptMsg{file.Keep()} }
}

// applySettings takes over what the settings say of the screen, and reports what is wrong with them.
func (m *Model) applySettings() {
	file := m.opts.Settings
	m.actions = withKeys(file)
	if !m.opts.several {
		m.actions = ofOneNode(m.actions)
	}
	m.setSort(screen.PodSort(file.Get(settings.Sort)))
	m.columns = screen.UsualColumns
	if names := file.List(settings.Columns); names != nil {
		m.columns = []screen.PodColumn{}
		for _, n := range names {
			m.columns = append(m.columns, screen.PodColumn(n))
		}
	}
	m.state.SetColumns(m.columns)
	wrong := file.Problems(m.lang)
	if len(wrong) == 0 {
		return
	}
	m.setNotice(wrong[0], true)
	if len(wrong) > 1 {
		m.setNotice(m.textf(words.Text("%s; and %d more", "%s；另有 %d 处"), wrong[0], len(wrong)-1), true)
	}
	// The next message takes the notice's place. The page stays until somebody has read it.
	m.push(&ask.Page{Title: m.text(words.Text("Settings that have no effect", "不起作用的设置")), Lines: wrong})
}

// ofOneNode returns the actions that a screen has which is not that of one node of several.
func ofOneNode(table []action) []action {
	return slices.DeleteFunc(slices.Clone(table), func(a action) bool { return a.id == nodesAction })
}

// withKeys returns the table of actions with the keys that a person gave some of them. It refuses a key that another
// action has, or that the action cannot have.
func withKeys(file *settings.File) []action {
	table := slices.Clone(actions)
	place := map[string]int{}
	for i := range table {
		place[table[i].id] = i
	}
	given := file.Keys()
	for _, k := range given {
		i, is := place[k.Action]
		switch {
		case !is:
			file.Reject(k.Line, words.With(words.Text("keys: there is no action %q; docs/keys.md lists them", "keys：没有 %q 这个操作；见 docs/keys.md"), k.Action))
		case k.Action == "leave.interrupt" || slices.Contains(k.Keys, "ctrl+c"):
			file.Reject(k.Line, words.With(words.Text("keys: %s: ctrl+c always ends podstep, and nothing else does so always", "keys：%s：ctrl+c 总是退出 podstep，其他按键不能代替"), k.Action))
		default:
			table[i].keys = k.Keys
		}
	}
	for again := true; again; { // an action that gets its own keys back may collide with another
		again = false
		for _, k := range given {
			i, is := place[k.Action]
			if !is || slices.Equal(table[i].keys, actions[i].keys) {
				continue
			}
			if other, key := sharesKey(table, i); other != "" {
				file.Reject(k.Line, words.With(words.Text("keys: %s: %s is the key of %s; give that another one", "keys：%s：%s 是 %s 的按键；请先给它换一个"), k.Action, key, other))
				table[i].keys, again = actions[i].keys, true
			}
		}
	}
	return table
}

// sharesKey finds another action that has a key of this one at the same time.
func sharesKey(table []action, i int) (id, key string) {
	for j := range table {
		if j == i || table[j].scope != table[i].scope {
			continue
		}
		for _, k := range table[i].keys {
			if slices.Contains(table[j].keys, k) {
				return table[j].id, k
			}
		}
	}
	return "", ""
}

func (m *Model) setSort(by screen.PodSort) {
	if m.sort = by; by == "" {
		m.sort = screen.SortWorst
	}
	m.state.SetSort(m.sort)
}

func (m *Model) nextSort() tea.Cmd {
	all := screen.PodSorts
	m.setSort(all[(slices.Index(all, m.sort)+1)%len(all)])
	m.notice(m.textf(words.Text("pods: %s", "Pod 排序：%s"), m.text(view.SortWord(m.sort))))
	return m.keepSetting(settings.Sort, string(m.sort))
}

var columnTitles = map[screen.PodColumn]text{
	screen.ColumnNamespace: words.Text("its namespace", "命名空间"), screen.ColumnStep: words.Text("the step that it is at", "所在的步骤"),
	screen.ColumnRestarts: words.Text("how often its containers were started again", "容器重启的次数"), screen.ColumnSeen: words.Text("for how long podstep knows it", "podstep 认识它多久了"),
}

// chooseColumns lists the columns; choosing one shows it, or hides it.
func (m *Model) chooseColumns() tea.Cmd {
	var all []ask.Choice
	for _, c := range screen.PodColumns {
		state := words.Text("hidden", "隐藏")
		if slices.Contains(m.columns, c) {
			state = words.Text("shown", "显示")
		}
		all = append(all, ask.Choice{ID: string(c), Also: string(c), Text: m.text(columnTitles[c]), Key: m.text(state), Do: func() tea.Cmd { return m.toggleColumn(c) }})
	}
	m.push(ask.NewPicker(screen.OverPalette, m.text(words.Text("Columns of the list of pods", "Pod 列表的列")), "/", all))
	return nil
}

func (m *Model) toggleColumn(c screen.PodColumn) tea.Cmd {
	on := !slices.Contains(m.columns, c)
	var now []screen.PodColumn
	names := []string{}
	for _, other := range screen.PodColumns {
		if other != c && slices.Contains(m.columns, other) || other == c && on {
			now = append(now, other)
			names = append(names, string(other))
		}
	}
	m.columns = append([]screen.PodColumn{}, now...)
	m.state.SetColumns(m.columns)
	m.notice(m.textf(words.Text("columns: %s", "列：%s"), strings.Join(names, ", ")))
	return m.keepSetting(settings.Columns, names)
}

// takePicture writes the present screen into a new file in the working directory.
func (m *Model) takePicture() tea.Cmd {
	size, theme := m.frame.options, picture.Dark
	if size.Theme == view.Light || size.LightGround && size.Theme != view.Dark {
		theme = picture.Light
	}
	text := view.Draw(m.screen(), m.frame.styles)
	name := "podstep-" + m.clock.now().Format("20060102-150405")
	done, lang := words.Text("picture: %s", "图片：%s"), m.lang
	return func() tea.Msg {
		name, err := writeNew(absolute(name), ".svg", picture.SVG(text, size.Width, size.Height, picture.Options{Theme: theme}))
		return doneMsg{lang.Inf(done, name), err}
	}
}

// mostOfSecond bounds the names for pictures that are taken within one second.
const mostOfSecond = 100

// writeNew writes a new file. It returns the file's name, which has a number if a file of the plain name is there
// already.
func writeNew(base, extension string, text []byte) (name string, err error) {
	name = base + extension
	f, err := createNew(name)
	for n := 2; errors.Is(err, fs.ErrExist) && n <= mostOfSecond; n++ {
		name = fmt.Sprintf("%s-%d%s", base, n, extension)
		f, err = createNew(name)
	}
	if err != nil {
		return name, reason.Errorf("write picture: %v", "写图片：%v", err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return name, reason.Errorf("write picture %s: %v", "写图片 %s：%v", name, err)
	}
	return name, nil
}

func createNew(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

// quitLeavingFrame ends the program and leaves the present screen in the terminal.
func (m *Model) quitLeavingFrame() tea.Cmd {
	m.last = view.Draw(m.screen(), m.frame.styles)
	return m.quit()
}
