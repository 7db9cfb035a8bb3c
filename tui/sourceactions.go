package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/ask"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/view"
)

// sourceAction is one thing that a person can do at the list of the nodes. Keys, help and footer of the list are made from
// the table of them.
type sourceAction struct {
	keys  []string
	group group
	title text
	// hint is the footer's word; empty: the footer does not name the action.
	hint func(*Sources) text
	do   func(*Sources) tea.Cmd
}

// sourceActions returns all of them. The footer names them in this order. The last one stands at its end.
func sourceActions() []sourceAction {
	return []sourceAction{
		{keys: []string{"k", "up"}, group: groupMove, title: words.Text("One row up", "上移一行"), do: move(-1)},
		{keys: []string{"j", "down"}, group: groupMove, title: words.Text("One row down", "下移一行"), do: move(1)},
		{keys: []string{"pgup", "ctrl+b"}, group: groupMove, title: words.Text("One page up", "上翻一页"), do: movePage(-1)},
		{keys: []string{"pgdown", "ctrl+f"}, group: groupMove, title: words.Text("One page down", "下翻一页"), do: movePage(1)},
		{keys: []string{"home"}, group: groupMove, title: words.Text("To the beginning", "到开头"), do: move(-farMove)},
		{keys: []string{"G", "end"}, group: groupMove, title: words.Text("To the end", "到末尾"), do: move(farMove)},
		{keys: []string{"enter", "right", "l"}, group: groupLook, title: words.Text("The screen of the node, at the selected pod", "打开该节点的屏幕，定位到选中的 Pod"),
			hint: always(words.Text("open", "打开")), do: (*Sources).enter},
		{keys: []string{"g"}, group: groupLook, title: words.Text("Group the pods by node, or by namespace", "按节点或按命名空间分组"), hint: (*Sources).otherGroups, do: (*Sources).toggleGroups},
		{keys: []string{"/"}, group: groupLook, title: words.Text("Only the rows with a text", "只看含有某段文字的行"), hint: always(words.Text("filter", "过滤")), do: (*Sources).filterBy},
		{keys: []string{"esc"}, group: groupLook, title: words.Text("All rows again", "恢复显示所有行"), do: (*Sources).unfilter},
		{keys: []string{"L"}, group: groupScreen, title: words.Text("The other language", "切换语言"), hint: always(words.Text("中文", "English")), do: (*Sources).switchLang},
		{keys: []string{"M"}, group: groupScreen, title: words.Text("Mouse on or off", "开关鼠标"), do: (*Sources).toggleMouse},
		{keys: []string{"q", "ctrl+c"}, group: groupLeave, title: words.Text("End podstep", "退出 podstep"), hint: always(words.Text("end", "退出")), do: func(s *Sources) tea.Cmd { return s.quit(s.asked) }},
		{keys: []string{"?", "f1"}, group: groupScreen, title: words.Text("Help", "帮助"), hint: always(words.Text("help", "帮助")), do: (*Sources).openHelp},
	}
}

// farMove is more rows than any list has.
const farMove = 1 << 30

func always(t text) func(*Sources) text { return func(*Sources) text { return t } }

func move(by int) func(*Sources) tea.Cmd {
	return func(s *Sources) tea.Cmd {
		s.list.Move(by)
		return nil
	}
}

func movePage(by int) func(*Sources) tea.Cmd {
	return func(s *Sources) tea.Cmd {
		s.list.Move(by * max(1, view.NodesRows(s.frame.styles)-1))
		return nil
	}
}

// actionOf returns the action of a key; nil: it has none.
func (s *Sources) actionOf(key string) *sourceAction {
	for i := range s.actions {
		if a := &s.actions[i]; slices.Contains(a.keys, key) {
			return a
		}
	}
	return nil
}

// hints returns what the footer names.
func (s *Sources) hints() (out []screen.Hint) {
	for i := range s.actions {
		if a := &s.actions[i]; a.hint != nil {
			out = append(out, screen.Hint{Key: keyName(a.keys[0]), Text: s.opts.Lang.In(a.hint(s))})
		}
	}
	return out
}

func (s *Sources) otherGroups() text {
	if s.list.ByNamespace() {
		return words.Text("group by node", "按节点分组")
	}
	return words.Text("group by namespace", "按命名空间分组")
}

func (s *Sources) toggleGroups() tea.Cmd {
	s.list.ToggleGroups()
	return nil
}

// filterBy asks for a text, and filters by it while it is typed.
func (s *Sources) filterBy() tea.Cmd {
	s.input = ask.NewInput("/", s.list.Filtered(), nil, func(string) (tea.Cmd, error) { return nil, nil })
	s.input.Typed = func(text string) error {
		s.list.Filter(text)
		return nil
	}
	s.input.Left = func(was string) { s.list.Filter(was) }
	return nil
}

func (s *Sources) unfilter() tea.Cmd {
	s.list.Filter("")
	return nil
}

func (s *Sources) switchLang() tea.Cmd {
	s.opts.Lang = otherLang(s.opts.Lang)
	s.list.SetLang(s.opts.Lang)
	return nil
}

func (s *Sources) toggleMouse() tea.Cmd {
	s.mouse = !s.mouse
	s.notice = &screen.Notice{Text: s.opts.Lang.In(mouseIs[s.mouse])}
	return nil
}

// openHelp lists all keys.
func (s *Sources) openHelp() tea.Cmd {
	var all []ask.Choice
	for g := groupMove; g <= groupLeave; g++ {
		for i := range s.actions {
			a := &s.actions[i]
			if a.group != g {
				continue
			}
			all = append(all, ask.Choice{
				ID: a.keys[0], Group: s.opts.Lang.In(groupTitles[g]), Text: s.opts.Lang.In(a.title), Key: keyNames(a.keys),
				Do: func() tea.Cmd { return a.do(s) },
			})
		}
	}
	p := ask.NewPicker(screen.OverHelp, s.opts.Lang.In(helpTitle), "/", all)
	p.ByKey = true
	s.help = p
	return nil
}
