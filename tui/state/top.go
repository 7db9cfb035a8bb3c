package state

import (
	"slices"
	"strings"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/spread"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

func init() { mainPanes[screen.MainTop] = topPane{} }

// topPane shows how long the calls of each step take, in all pods or in the selected one.
type topPane struct{}

func (topPane) body(s *State, rows int, v *view) screen.Body { return s.durations(rows, v) }
func (topPane) move(s *State, rows int, v *view)             { s.top.move(s, rows, v) }
func (topPane) end(s *State)                                 { s.top.move(s, veryFar, s.view()) }
func (topPane) open(s *State, v *view)                       { s.openWorst(v) }
func (topPane) back(*State, *view) bool                      { return false }
func (topPane) toggleFollow(*State, *view)                   {}
func (topPane) sideways(*State, int)                         {}

// nextError selects the next step of which a call failed.
func (topPane) nextError(s *State, dir int, v *view) bool {
	rows := s.topRows(v)
	for i := s.top.place(rows) + dir; i >= 0 && i < len(rows) && dir != 0; i += dir {
		if rows[i].Errors > 0 {
			s.top.selectRow(rows, i)
			return true
		}
	}
	return false
}

// topView is the reader's place in the list of durations.
type topView struct {
	one   bool // only the selected pod's calls
	order spread.Order
	step  history.StepID // selected; zero: none yet, and the first row is
	row   int            // where that was last
	top   int

	key  topKey
	rows []spread.Row
}

// topList is which rows a list of durations has, and in which order.
type topList struct {
	pod   int // none: all pods
	order spread.Order
}

// topKey is what the rows were made for.
type topKey struct {
	topList
	at      int
	now     int64
	version uint64
}

// topRows returns a row for each step, in the order of the list. Within one frame they are worked out once.
func (s *State) topRows(v *view) []spread.Row {
	if key := (topKey{s.topListed(), v.at, v.now, s.version}); s.top.key != key || s.top.rows == nil {
		s.top.key, s.top.rows = key, s.topSpread(v).Rows(s.h, v.now, s.top.order)
	}
	return s.top.rows
}

func (s *State) topListed() topList {
	if s.top.one {
		return topList{s.pod, s.top.order}
	}
	return topList{none, s.top.order}
}

func (s *State) topSpread(v *view) *spread.Spread {
	if s.top.one {
		return s.spreads.OfPod(s.pod, v.at)
	}
	return s.spreads.At(v.at)
}

// place returns the row of the selected step. If the step has no row now, it is the row at its place.
func (t *topView) place(rows []spread.Row) int {
	if t.step != 0 {
		if i := slices.IndexFunc(rows, func(r spread.Row) bool { return r.Step == t.step }); i >= 0 {
			return i
		}
	}
	return max(0, min(t.row, len(rows)-1))
}

func (t *topView) selectRow(rows []spread.Row, i int) { t.step, t.row = rows[i].Step, i }

func (t *topView) move(s *State, by int, v *view) {
	if rows := s.topRows(v); len(rows) > 0 {
		t.selectRow(rows, max(0, min(t.place(rows)+by, len(rows)-1)))
		s.detailTop = 0
	}
}

func (s *State) durations(rows int, v *view) *screen.Top {
	t, all := &s.top, s.topRows(v)
	out := &screen.Top{Total: len(all), Cursor: none, Order: t.order, Seen: s.topSpread(v).Seen(v.now)}
	if t.one {
		out.Of = s.whoseEvents()
	}
	if len(all) == 0 {
		out.Empty = s.lang.In(words.Text("No call of a step has been seen yet.", "还没有看到任何步骤的调用。"))
		return out
	}
	at := t.place(all)
	t.row = at
	t.top = window(t.top, at, rows, len(all), usualMargin)
	out.Top = t.top
	for i := t.top; i < min(t.top+rows, len(all)); i++ {
		out.Rows = append(out.Rows, s.topRow(&all[i]))
		if i == at {
			out.Cursor = i - t.top
		}
	}
	return out
}

func (s *State) topRow(r *spread.Row) screen.TopRow {
	st := s.h.Step(r.Step)
	out := screen.TopRow{
		Step: st.Name, Title: s.title(st), Calls: r.Calls, Errors: r.Errors, PerMinute: r.PerMinute, Share: r.Share,
		P50: r.P50, P90: r.P90, P99: r.P99, Max: r.Max, Open: r.Open, Longest: r.Longest.Took, Heat: r.Heat,
	}
	if c := worstOf(r); c.Pod == 0 {
		out.Worst = words.Clean(s.h.Epoch().Info.GetNode())
	} else {
		out.Worst = s.podAt(c.Pod).Entity.NamespacedName()
	}
	return out
}

// worstOf returns the call that a row leads to: the longest of those that have ended, or else of those that go on.
func worstOf(r *spread.Row) spread.Call {
	if r.Calls > 0 {
		return r.Worst
	}
	return r.Longest
}

// selectedWorst returns the call to which the selected row leads; ok is false if the history has forgotten it.
func (s *State) selectedWorst(v *view) (c spread.Call, ok bool) {
	rows := s.topRows(v)
	if len(rows) == 0 {
		return c, false
	}
	c = worstOf(&rows[s.top.place(rows)])
	return c, s.h.Span(c.Span) != nil
}

// worstLine returns the call of the selected row as a line of a story.
func (s *State) worstLine(v *view) *line {
	c, ok := s.selectedWorst(v)
	if !ok {
		return nil
	}
	return &line{key: lineKey{kind: keySpan, a: c.Span}, kind: screen.RowStep, span: c.Span, item: none}
}

// openWorst goes from a step to the call that took longest, in the story of its pod.
func (s *State) openWorst(v *view) {
	c, ok := s.selectedWorst(v)
	if !ok {
		return
	}
	s.selectPod(c.Pod)
	s.main, s.focus = screen.MainStory, screen.PaneMain
	s.reveal(s.podAt(s.pod), c.Span, v)
}

// WorstForgotten reports whether the list of durations has the keys, and the call to which the selected step would lead is
// not kept.
func (s *State) WorstForgotten() bool {
	if s.main != screen.MainTop || s.focus != screen.PaneMain {
		return false
	}
	v := s.view()
	_, ok := s.selectedWorst(v)
	return !ok && len(s.topRows(v)) > 0
}

// ToggleManyTop shows the durations of the calls of all pods, or of the selected one.
func (s *State) ToggleManyTop() { s.top.one = !s.top.one }

// NextTopOrder orders the durations in another way.
func (s *State) NextTopOrder() {
	s.top.order = spread.Orders[(slices.Index(spread.Orders, s.top.order)+1)%len(spread.Orders)]
}

// SelectTop selects a step in the list of durations.
func (s *State) SelectTop(step string) {
	rows := s.topRows(s.view())
	if i := slices.IndexFunc(rows, func(r spread.Row) bool { return s.h.Step(r.Step).Name == step }); i >= 0 {
		s.top.selectRow(rows, i)
		s.detailTop = 0
	}
}

// topFound are the rows of the list of durations, for finding a text in them.
type topFound struct {
	s    *State
	rows []spread.Row
}

func (f topFound) Rows() (int, int) { return 0, len(f.rows) }
func (f topFound) Version() uint64  { return f.s.version }
func (f topFound) At() int          { return f.s.top.place(f.rows) }
func (f topFound) Go(i int)         { f.s.top.selectRow(f.rows, i) }

func (f topFound) Text(i int) string {
	r := f.s.topRow(&f.rows[i])
	return strings.Join([]string{r.Step, r.Title, r.Worst}, " ")
}
