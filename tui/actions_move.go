package tui

import (
	"cmp"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// intent wraps what only changes what is shown.
func intent(do func(*Model)) func(*Model) tea.Cmd {
	return func(m *Model) tea.Cmd {
		do(m)
		return nil
	}
}

var moveActions = []action{
	{id: "move.up", keys: []string{"k", "up"}, group: groupMove, title: words.Text("One row up", "上移一行"),
		do: intent(func(m *Model) { m.state.Move(-1) })},
	{id: "move.down", keys: []string{"j", "down"}, group: groupMove, title: words.Text("One row down", "下移一行"),
		do: intent(func(m *Model) { m.state.Move(1) })},
	{id: "move.open", keys: []string{"l", "right", "enter"}, group: groupMove, title: words.Text("Open, or go in", "展开或进入"),
		hint: words.Text("open", "展开"), rank: rank(20), do: intent(func(m *Model) { m.state.Open() })},
	{id: "move.back", keys: []string{"h", "left"}, group: groupMove, title: words.Text("Close, or go one level out", "收起或返回上一级"),
		do: intent(func(m *Model) { m.state.Back() })},
	{id: "move.pageup", keys: []string{"ctrl+u", "pgup"}, group: groupMove, title: words.Text("Half a page up", "上翻半页"),
		do: intent(func(m *Model) { m.state.Page(-1) })},
	{id: "move.pagedown", keys: []string{"ctrl+d", "pgdown"}, group: groupMove, title: words.Text("Half a page down", "下翻半页"),
		do: intent(func(m *Model) { m.state.Page(1) })},
	{id: "move.top", keys: []string{"g", "home"}, group: groupMove, title: words.Text("To the top", "到顶部"),
		do: intent(func(m *Model) { m.state.Home() })},
	{id: "move.bottom", keys: []string{"G", "end"}, group: groupMove, title: words.Text("To the bottom, and follow", "到底部并跟随"),
		do: intent(func(m *Model) { m.state.End() })},
	{id: "move.pane", keys: []string{"tab"}, group: groupMove, title: words.Text("Next pane", "下一个窗格"),
		hint: words.Text("pane", "窗格"), rank: rank(10), do: intent(func(m *Model) { m.state.NextPane() })},
	{id: "move.paneback", keys: []string{"shift+tab"}, group: groupMove, title: words.Text("Previous pane", "上一个窗格"),
		do: intent(func(m *Model) { m.state.PrevPane() })},
	{id: "move.error", keys: []string{"]"}, group: groupMove, title: words.Text("Next error", "下一个错误"),
		do: intent(func(m *Model) { m.nextError(1) })},
	{id: "move.errorback", keys: []string{"["}, group: groupMove, title: words.Text("Previous error", "上一个错误"),
		do: intent(func(m *Model) { m.nextError(-1) })},
	{id: "move.sideright", keys: []string{"}", "shift+right"}, group: groupMove, title: words.Text("Scroll right; pan the timeline", "向右滚动；平移时间线"),
		do: intent(func(m *Model) { m.state.Sideways(1) })},
	{id: "move.sideleft", keys: []string{"{", "shift+left"}, group: groupMove, title: words.Text("Scroll left; pan the timeline", "向左滚动；平移时间线"),
		do: intent(func(m *Model) { m.state.Sideways(-1) })},
	{id: "move.held", keys: []string{"J"}, group: groupMove, title: words.Text("To the next held pod, in turn", "跳到下一个被停住的 Pod，循环"),
		hint: words.Text("held pod", "被停住的 Pod"), rank: rankElsewhere, off: offNoHold, moves: (*Model).nextHeldName, brief: (*Model).toNextHeld, do: intent((*Model).selectHeld)},
}

// nextError goes to an error of the pod's story.
func (m *Model) nextError(dir int) {
	if !m.state.NextError(dir) {
		m.notice(m.text(words.Text("no further error in this story", "这个过程中没有更多错误")))
	}
}

// nextHeld is the hold that J goes to: of the pod that is held next after the
// selected one, in the order in which they were held, and round; if the selected
// pod is not held, the one that the banner names. Nil if no pod is held.
func (m *Model) nextHeld() *agentpb.HoldInfo {
	here := m.heldHere()
	if here == nil {
		return m.bannerHold()
	}
	holds := slices.SortedFunc(slices.Values(m.holds), func(a, b *agentpb.HoldInfo) int { return cmp.Compare(a.GetId(), b.GetId()) })
	at := slices.Index(holds, here)
	for _, h := range slices.Concat(holds[at:], holds[:at]) {
		if h.GetPod().GetUid() != here.GetPod().GetUid() {
			return h
		}
	}
	return here
}

// bannerHold is the hold of the pod that the banner names.
func (m *Model) bannerHold() *agentpb.HoldInfo {
	b := m.screen().Hold
	for _, h := range m.holds {
		if b != nil && h.GetPod().GetUid() == b.UID {
			return h
		}
	}
	return nil
}

func (m *Model) selectHeld() { m.toHold(m.nextHeld()) }

// toHold goes to where a pod is held.
func (m *Model) toHold(h *agentpb.HoldInfo) {
	if h == nil {
		return
	}
	if m.screen().Main == screen.MainBreaks {
		m.state.SetMain(screen.MainStory)
	}
	m.goToHold(h)
}

func offNoHold(m *Model) text {
	if len(m.holds) == 0 {
		return words.Text("no pod is held", "没有被停住的 Pod")
	}
	return text{}
}

// rankElsewhere wants the held pods in the footer while another is selected, or
// there are several.
func rankElsewhere(m *Model) int {
	switch {
	case len(m.holds) == 0:
		return 0
	case m.heldHere() == nil:
		return 95
	case m.nextHeld().GetPod().GetUid() != m.selectedUID():
		return 85
	}
	return 0
}
