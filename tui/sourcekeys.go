package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/ask"
	"github.com/podstep/podstep/tui/view"
)

// key takes a key while the list is shown.
func (s *Sources) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	s.notice = nil
	if name != "ctrl+c" && s.input != nil {
		cmd, over := s.input.Key(k)
		if over {
			s.input = nil
		}
		return cmd
	}
	warned := s.warned
	s.warned = false
	page := max(1, view.NodesRows(s.frame.styles)-1)
	switch name {
	case "up", "k":
		s.list.Move(-1)
	case "down", "j":
		s.list.Move(1)
	case "pgup", "ctrl+b":
		s.list.Move(-page)
	case "pgdown", "ctrl+f":
		s.list.Move(page)
	case "home":
		s.list.Move(-len(s.sources) * 1 << 20)
	case "end", "G":
		s.list.Move(len(s.sources) * 1 << 20)
	case "enter", "right", "l":
		return s.enter()
	case "g":
		s.list.ToggleGroups()
	case "/":
		s.filterBy()
	case "esc":
		s.list.Filter("")
	case "L":
		s.switchLang()
	case "q", "ctrl+c":
		return s.quit(warned)
	}
	return nil
}

// filterBy asks for a text, and filters by it while it is typed.
func (s *Sources) filterBy() {
	s.input = ask.NewInput("/", s.list.Filtered(), nil, func(string) (tea.Cmd, error) { return nil, nil })
	s.input.Typed = func(text string) error {
		s.list.Filter(text)
		return nil
	}
	s.input.Left = func(was string) { s.list.Filter(was) }
}

func (s *Sources) switchLang() {
	s.opts.Lang = otherLang(s.opts.Lang)
	s.list.SetLang(s.opts.Lang)
}

// quit ends the program. It asks first if pods that are held would go on.
func (s *Sources) quit(warned bool) tea.Cmd {
	held := s.held()
	switch {
	case warned:
	case s.opts.labRuns():
		s.warned = true
		s.fail(s.opts.Lang.Inf(words.Text("the lab ends with podstep, and its %d nodes; the same key again ends it", "退出会结束实验环境及其 %d 个节点；再按一次退出"), len(s.sources)))
		return nil
	case len(held) > 0:
		s.warned = true
		s.fail(s.opts.Lang.Inf(words.Text("held pods go on when podstep ends: %d; the same key again ends it", "退出会放行被停住的 Pod：%d 个；再按一次退出"), len(held)))
		return nil
	}
	return tea.Quit
}

// quitHere ends the program after the person was asked on a node's screen, which knows nothing of the others.
func (s *Sources) quitHere() tea.Cmd {
	if !s.heldElsewhere() {
		return tea.Quit
	}
	s.current = none
	return s.quit(false)
}

// held returns the pods of all nodes that are let go when the program ends.
func (s *Sources) held() (names []string) {
	for _, m := range s.opened {
		if m != nil {
			names = append(names, m.ownHeld()...)
		}
	}
	slices.Sort(names)
	return names
}

// heldElsewhere reports whether pods of nodes whose screens are not shown are held.
func (s *Sources) heldElsewhere() bool {
	for i, m := range s.opened {
		if i != s.current && m != nil && len(m.ownHeld()) > 0 {
			return true
		}
	}
	return false
}
