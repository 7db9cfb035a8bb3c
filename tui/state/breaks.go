package state

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

func init() { mainPanes[screen.MainBreaks] = breaksPane{} }

// breaksPane is the list of breakpoints.
type breaksPane struct{ storyPane }

func (breaksPane) body(s *State, rows int, _ *view) screen.Body { return s.breakList(rows) }
func (breaksPane) move(s *State, rows int, _ *view)             { s.moveBreak(rows) }
func (breaksPane) end(s *State)                                 { s.moveBreak(veryFar) }
func (breaksPane) open(*State, *view)                           {}
func (breaksPane) back(*State, *view) bool                      { return false }

// SetBreakpoints sets the present breakpoints, as of a time. The selected one stays selected wherever it stands now.
// If it is gone, none is selected until the person moves, because a key must act on the breakpoint that they see.
func (s *State) SetBreakpoints(b []*agentpb.Breakpoint, at time.Time) {
	s.breaks, s.breakAt = b, at
	switch {
	case len(b) == 0:
		s.breakID, s.breakRow = 0, 0
	case s.breakID == 0:
		s.breakID = b[0].GetId()
	}
	if row := s.selectedBreak(); row != none {
		s.breakRow = row
	}
}

// selectedBreak returns the row of the selected breakpoint, or none.
func (s *State) selectedBreak() int {
	return slices.IndexFunc(s.breaks, func(b *agentpb.Breakpoint) bool { return b.GetId() == s.breakID })
}

// moveBreak selects another breakpoint. It counts from the selected one, or from the row where that was.
func (s *State) moveBreak(rows int) {
	if len(s.breaks) == 0 {
		return
	}
	if s.selectedBreak() == none && rows > 0 {
		rows-- // the next one has come to its row
	}
	s.breakRow = max(0, min(s.breakRow+rows, len(s.breaks)-1))
	s.breakID = s.breaks[s.breakRow].GetId()
}

// LeaveBreak selects the next breakpoint, or the previous one if the selected one is the last. It is called before
// the selected one is removed.
func (s *State) LeaveBreak() {
	if s.breakRow+1 < len(s.breaks) {
		s.moveBreak(1)
		return
	}
	s.moveBreak(-1)
}

func (s *State) breakList(rows int) *screen.BreakList {
	l := &screen.BreakList{Cursor: none}
	if len(s.breaks) == 0 {
		l.Empty = s.lang.In(words.Text("No breakpoints. A breakpoint stops a pod when it comes to a step, also a pod that does not exist yet.",
			"没有断点。断点会在 Pod 走到某一步时把它停住，也适用于还不存在的 Pod。"))
		return l
	}
	row := max(0, min(s.breakRow, len(s.breaks)-1))
	top := window(0, row, rows, len(s.breaks), 0)
	for i := top; i < min(top+max(rows, 1), len(s.breaks)); i++ {
		l.Rows = append(l.Rows, s.breakpoint(s.breaks[i]))
	}
	if s.selectedBreak() != none {
		l.Cursor = row - top
	}
	return l
}

func (s *State) breakpoint(b *agentpb.Breakpoint) screen.BreakRow {
	spec := b.GetSpec()
	r := screen.BreakRow{ID: b.GetId(), Pods: s.podsOf(spec.GetPods()), Steps: words.Clean(cmp.Or(spec.GetStep(), spec.GetAt())), Hits: b.GetHits()}
	if t := b.GetExpires(); t != nil {
		r.Expires = history.Since(max(s.clock, s.breakAt.UnixNano()), t.AsTime().UnixNano())
	}
	switch spec.GetOn() {
	case agentpb.On_ON_EXIT:
		r.When = s.lang.In(words.Text("exit", "返回时"))
	case agentpb.On_ON_ERROR:
		r.When = s.lang.In(words.Text("error", "出错时"))
	default:
		r.When = s.lang.In(words.Text("enter", "进入时"))
	}
	if d := spec.GetSlowerThan(); d != nil {
		r.When += s.lang.Inf(words.Text(", slower than %s", "，慢于 %s"), words.Took(d.AsDuration()))
	}
	switch a := spec.GetAction().(type) {
	case *agentpb.AddBreakpointRequest_Fail:
		r.Action = s.lang.Inf(words.Text("fails: %s", "失败：%s"), words.OneLine(a.Fail))
	case *agentpb.AddBreakpointRequest_Delay:
		r.Action = s.lang.Inf(words.Text("delays %s", "延迟 %s"), words.Took(a.Delay.AsDuration()))
	case *agentpb.AddBreakpointRequest_Snapshot:
		r.Action = s.lang.In(words.Text("keeps the stack", "保存调用栈"))
	case *agentpb.AddBreakpointRequest_Log:
		r.Action = s.lang.Inf(words.Text("logs %s", "记录 %s"), words.OneLine(loggedBy(s.lang, a.Log)))
	default:
		r.Action = s.lang.In(words.Text("holds", "停住"))
	}
	r.Counted = s.countedBy(b)
	var refused []string
	for _, f := range b.GetRefused() {
		refused = append(refused, words.Clean(f.GetStep())+": "+words.OneLine(s.lang.In(reason.Problem(f.GetProblem()))))
	}
	r.Refused = strings.Join(refused, s.lang.In(words.Text("; ", "；")))
	return r
}

// loggedBy says what a log shows.
func loggedBy(l words.Lang, act *agentpb.LogAction) string {
	what := strings.Join(act.GetFields(), ", ")
	if what == "" {
		what = l.In(words.Text("all values", "所有值"))
	}
	if act.GetFilter() != "" {
		what += l.Inf(words.Text(" if %s", "，条件 %s"), act.GetFilter())
	}
	return what
}

func (s *State) podsOf(p *agentpb.PodSelector) string {
	name := p.GetName()
	if name == "" {
		name = "*"
	}
	if p.GetNamespace() != "" {
		name = p.GetNamespace() + "/" + name
	}
	if p.GetUid() != "" {
		name += " uid " + p.GetUid()
	}
	var labels []string
	for k, v := range p.GetLabels() {
		labels = append(labels, k+"="+v)
	}
	slices.Sort(labels)
	return words.Clean(strings.TrimSpace(name + " " + strings.Join(labels, ",")))
}
