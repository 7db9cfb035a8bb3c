package tui

import (
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/view"
)

// key takes a key while the list is shown.
func (s *Sources) key(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	s.byHand()
	switch {
	case name == "ctrl+c":
	case s.help != nil:
		cmd, over := s.help.Key(k)
		return s.afterHelp(cmd, over)
	case s.input != nil:
		cmd, over := s.input.Key(k)
		if over {
			s.input = nil
		}
		return cmd
	}
	if a := s.actionOf(name); a != nil {
		return a.do(s)
	}
	return nil
}

// byHand notes that the person does something: what was shown before is read, and a question is answered by this or not at
// all.
func (s *Sources) byHand() {
	s.notice = nil
	s.asked, s.warned = s.warned, false
}

// afterHelp takes the help away if it is over.
func (s *Sources) afterHelp(cmd tea.Cmd, over bool) tea.Cmd {
	if over {
		s.help = nil
	}
	return cmd
}

// mouseEvent carries out a click or a turn of the wheel. A click on the selected row opens it.
func (s *Sources) mouseEvent(msg tea.MouseMsg) tea.Cmd {
	if !s.mouse || s.frame.styles == nil {
		return nil
	}
	at := msg.Mouse()
	switch msg.(type) {
	case tea.MouseWheelMsg:
		s.wheel(at.Button)
	case tea.MouseClickMsg:
		if at.Button == tea.MouseLeft {
			return s.click(at.X, at.Y)
		}
	}
	return nil
}

func (s *Sources) wheel(b tea.MouseButton) {
	by, turns := wheelOf(b)
	switch {
	case !turns:
	case s.help != nil:
		s.help.Move(by)
	default:
		s.list.Move(by)
	}
}

func (s *Sources) click(x, y int) tea.Cmd {
	n := s.screen()
	t, ok := view.HitNodes(n, s.frame.styles, x, y) // before the notice goes, beneath which there are no hints
	s.byHand()
	switch {
	case !ok:
	case s.help != nil:
		if t.Kind == view.OnItem {
			return s.afterHelp(s.help.Item(t.Index))
		}
	case t.Kind == view.OnHint:
		for i := range s.actions {
			if a := &s.actions[i]; a.hint != nil && keyName(a.keys[0]) == t.ID {
				return a.do(s)
			}
		}
	case t.Kind == view.OnItem && t.Index == n.Cursor:
		return s.enter()
	case t.Kind == view.OnItem:
		s.list.Move(t.Index - n.Cursor)
	}
	return nil
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
