package tui

import (
	"cmp"
	"hash/fnv"
	"io"
	"slices"

	tea "charm.land/bubbletea/v2"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/ask"
	"github.com/podstep/podstep/tui/find"
	"github.com/podstep/podstep/tui/marks"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/view"
)

// intent makes a command of a function that only changes what is shown.
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
		hint: words.Text("open", "展开"), rank: rank(20), do: intent((*Model).open)},
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
		hint: words.Text("pane", "窗格"), rank: rankPane, brief: (*Model).nextPaneName, do: intent(func(m *Model) { m.state.NextPane() })},
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

// findActions find a text, and open and close the rows in which texts are.
var findActions = []action{
	{id: "find.text", keys: []string{"ctrl+f"}, group: groupMove, title: words.Text("Find a text in this pane", "在此窗格中查找文字"),
		do: (*Model).askFind},
	{id: "find.next", keys: []string{"n"}, scope: inFind, group: groupMove, title: words.Text("To the next row with the text, and round", "跳到下一处匹配，循环"),
		hint: words.Text("next match", "下一处"), rank: rank(98), do: intent(func(m *Model) { m.findNext(1) })},
	{id: "find.back", keys: []string{"N"}, scope: inFind, group: groupMove, title: words.Text("To the row with the text before, and round", "跳到上一处匹配，循环"),
		hint: words.Text("previous", "上一处"), rank: rank(97), do: intent(func(m *Model) { m.findNext(-1) })},
	{id: "place.mark", keys: []string{"'"}, group: groupMove, title: words.Text("Set a bookmark at the row or event, or take it away", "在此行或事件上设置或取消书签"),
		do: (*Model).bookmark},
	{id: "place.next", keys: []string{";"}, group: groupMove, title: words.Text("To the next bookmark, and round", "跳到下一个书签，循环"),
		off: offNoBookmark, do: intent(func(m *Model) { m.nextBookmark(1) })},
	{id: "place.back", keys: []string{"`"}, group: groupMove, title: words.Text("To the bookmark before, and round", "跳到上一个书签，循环"),
		off: offNoBookmark, do: intent(func(m *Model) { m.nextBookmark(-1) })},
	{id: "story.openall", keys: []string{"=", "+"}, scope: inStory, group: groupMove, title: words.Text("Open all rows", "展开所有行"),
		do: intent(func(m *Model) { m.state.OpenAll() })},
	{id: "story.closeall", keys: []string{"-"}, scope: inStory, group: groupMove, title: words.Text("Close all rows", "收起所有行"),
		do: intent(func(m *Model) { m.state.CloseAll() })},
}

// nextError goes to an error of the pod's story.
func (m *Model) nextError(dir int) {
	if !m.state.NextError(dir) {
		m.notice(m.text(words.Text("no further error in this story", "这个过程中没有更多错误")))
	}
}

// nextHeld returns the hold that J goes to. If the selected pod is held, that is a hold of the next held pod, in the
// order in which the pods were held, and round. If not, it is the hold that the banner names. Nil if no pod is held.
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

// bannerHold returns the hold of the pod that the banner names.
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

// toHold selects the place where a pod is held.
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

// rankElsewhere ranks the way to the held pods, while another pod is selected or several are held.
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

// askFind asks for a text, and goes to the first match while it is typed.
func (m *Model) askFind() tea.Cmd {
	_, rows := m.rows()
	if rows == nil {
		m.notice(m.text(words.Text("this pane has no rows to find a text in", "这个窗格没有可供查找的行")))
		return nil
	}
	from := rows.At()
	in := ask.NewInput(m.text(words.Text("find", "查找")), m.find.Text(), nil, func(string) (tea.Cmd, error) { return nil, nil })
	in.Typed = func(typed string) error {
		m.find.Set(typed)
		if name, rows := m.rows(); rows != nil {
			m.find.Here(name, rows, from)
		}
		return nil
	}
	in.Left = func(string) {
		m.find.Set("")
		if _, rows := m.rows(); rows != nil {
			if first, end := rows.Rows(); first <= from && from < end {
				rows.Go(from)
			}
		}
	}
	m.input = in
	return nil
}

// rows returns the rows of the pane that has the keys, and the name of that list; nil if the pane has none.
func (m *Model) rows() (name any, rows find.List) {
	if s := m.screen(); s.Focus == screen.PaneDetail && s.Detail != nil {
		return screen.PaneDetail, detailRows{m, s, view.DetailText(s, m.frame.styles)}
	}
	return m.state.Rows()
}

// detailRows are the lines of a detail as they are drawn. The first visible line counts as the selected one.
type detailRows struct {
	m     *Model
	s     *screen.Screen
	lines []string
}

func (r detailRows) Rows() (int, int)  { return 0, len(r.lines) }
func (r detailRows) Text(i int) string { return r.lines[i] }
func (r detailRows) At() int           { return r.s.Detail.Top }
func (r detailRows) Go(i int)          { r.m.state.ScrollDetail(i) }

// Version is a hash of the texts themselves.
func (r detailRows) Version() uint64 {
	h := fnv.New64a()
	for _, l := range r.lines {
		io.WriteString(h, l)
	}
	return h.Sum64()
}

// findNext goes to the next row with the text, or the one before.
func (m *Model) findNext(dir int) {
	name, rows := m.rows()
	if rows == nil {
		m.notice(m.text(words.Text("this pane has no rows to find a text in", "这个窗格没有可供查找的行")))
		return
	}
	if m.find.Next(name, rows, dir) {
		return
	}
	if _, _, more := m.find.Count(rows); more {
		m.notice(m.textf(words.Text("%q is not in the rows that were looked at so far; {key:find.next} looks further", "目前查找过的行中没有 %q；按 {key:find.next} 继续查找"), m.find.Text()))
	} else {
		m.notice(m.textf(words.Text("%q is not in this pane", "此窗格中没有 %q"), m.find.Text()))
	}
}

// showFinding puts into the screen the text that is looked for, and where it is.
func (m *Model) showFinding(s *screen.Screen) {
	s.Finding = nil
	if m.find.Text() == "" {
		return
	}
	if name, rows := m.rows(); rows != nil {
		m.find.Look(name, rows, find.PerFrame)
		s.Finding = &screen.Finding{Text: m.find.Text()}
		s.Finding.K, s.Finding.N, s.Finding.More = m.find.Count(rows)
	}
}

// bookmarkHere returns the selected row or event as a bookmark; false if no row or event is selected.
func (m *Model) bookmarkHere() (marks.Bookmark, bool) {
	s := m.screen()
	if e := s.Events(); e != nil {
		if !inRange(e.Cursor, len(e.Rows)) {
			return marks.Bookmark{}, false
		}
		return marks.Bookmark{Pos: e.Rows[e.Cursor].Pos}, true
	}
	if st := s.Story(); st != nil && inRange(st.Cursor, len(st.Rows)) {
		return rowMark(st.Pod.UID, &st.Rows[st.Cursor]), true
	}
	return marks.Bookmark{}, false
}

func rowMark(uid string, r *screen.Row) marks.Bookmark {
	return marks.Bookmark{Pos: r.Event, UID: uid, Row: r.ID}
}

// bookmark sets a bookmark at the selected row or event, or takes it away.
func (m *Model) bookmark() tea.Cmd {
	here, ok := m.bookmarkHere()
	if !ok {
		m.notice(m.text(words.Text("bookmarks are set in the pipeline and in the events; nothing is selected there", "书签设在流水线和事件中；那里没有选中任何内容")))
		return nil
	}
	switch set := m.places.Toggle(here); {
	case set && !m.keeps():
		m.notice(m.textf(words.Text("bookmark set until podstep ends; {key:place.next} goes to the next of %d", "已设置书签，退出 podstep 后失效；按 {key:place.next} 前往下一个，共 %d 个"), m.places.Len()))
	case set:
		m.notice(m.textf(words.Text("bookmark set; {key:place.next} goes to the next of %d", "已设置书签；按 {key:place.next} 前往下一个，共 %d 个"), m.places.Len()))
	default:
		m.notice(m.text(words.Text("bookmark taken away", "已取消书签")))
	}
	return m.keepBookmarks()
}

func offNoBookmark(m *Model) text {
	if m.places.Len() == 0 {
		return words.Text("there is no bookmark; {key:place.mark} sets one", "没有书签；按 {key:place.mark} 设置")
	}
	return text{}
}

// nextBookmark goes to the next bookmark, in the view in which it was set.
func (m *Model) nextBookmark(dir int) {
	here, ok := m.bookmarkHere()
	if !ok {
		here.Pos = m.state.Events()
	}
	to, k, ok := m.places.Next(here, dir)
	if !ok {
		return
	}
	if !m.state.Shows(to.Pos) {
		m.state.SeekEvent(to.Pos)
	}
	if to.Row == "" || !m.toRow(to) {
		m.places.ToEvent(to)
		m.state.SetMain(screen.MainEvents)
		m.state.SelectEvent(to.Pos)
	}
	m.notice(m.textf(words.Text("bookmark %d of %d", "书签 %d，共 %d 个"), k, m.places.Len()))
}

// toRow goes to the row of a bookmark. It reports whether the row is there.
func (m *Model) toRow(to marks.Bookmark) bool {
	m.state.SetMain(screen.MainStory)
	if to.UID == "" {
		m.state.SelectPod(0)
	} else {
		m.state.SelectPodOf(to.UID)
	}
	m.state.RevealRow(to.Row)
	m.frame.stale = true
	here, ok := m.bookmarkHere()
	return ok && to.Is(here)
}

// signRows puts the signs of marks and bookmarks on the rows that are seen.
func (m *Model) signRows(s *screen.Screen) {
	s.Pods.Marked = m.marked.Len()
	for i := range s.Pods.Rows {
		s.Pods.Rows[i].Marked = m.marked.Has(s.Pods.Rows[i].UID)
	}
	if m.places.Len() == 0 {
		return
	}
	if st := s.Story(); st != nil {
		for i := range st.Rows {
			st.Rows[i].Marked = m.places.Has(rowMark(st.Pod.UID, &st.Rows[i]))
		}
	}
	if e := s.Events(); e != nil {
		for i := range e.Rows {
			e.Rows[i].Marked = m.places.Has(marks.Bookmark{Pos: e.Rows[i].Pos})
		}
	}
}

// rankPane ranks the way to the other panes high where not all panes are seen.
func rankPane(m *Model) int {
	s := m.screen()
	l := view.Arrange(m.frame.options.Width, m.frame.options.Height, view.ArrangementOf(s))
	switch {
	case l.Pods.H == 0 || l.Main.H == 0 && s.Focus != screen.PaneDetail:
		return 91 // next to letting a held pod go
	case s.Detail != nil && l.Detail.H == 0, l.Main.H == 0:
		return 56
	}
	return 10
}

// nextPaneName returns the footer's hint for the pane that Tab goes to.
func (m *Model) nextPaneName() string {
	switch s := m.screen(); {
	case s.Focus == screen.PaneDetail:
		return m.text(words.Text("pods", "Pod"))
	case s.Focus == screen.PanePods:
		return m.text(view.MainName(s.Main))
	default:
		return m.text(words.Text("step", "步骤"))
	}
}
