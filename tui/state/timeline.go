package state

import (
	"strconv"
	"time"

	"github.com/podstep/podstep/agent/story/critical"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

func init() { mainPanes[screen.MainTimeline] = timelinePane{} }

// timelinePane is the story in time, with its selection, or one bar for each pod.
type timelinePane struct{ storyPane }

func (timelinePane) body(s *State, rows int, v *view) screen.Body { return s.timeline(rows, v) }

func (timelinePane) move(s *State, rows int, v *view) {
	if s.time.many {
		s.movePod(rows, v)
		return
	}
	s.moveStory(rows, v)
}

func (p timelinePane) end(s *State) { p.move(s, veryFar, s.view()) }

func (timelinePane) open(s *State, v *view) {
	if s.time.many {
		s.time.many = false
		return
	}
	s.openRow(v)
}

func (timelinePane) back(s *State, v *view) bool { return !s.time.many && s.closeRow(v) }

// panPart is how far a key pans, as a part of the time that is shown.
const panPart = 0.25

func (timelinePane) sideways(s *State, dir int) { s.pan(float64(dir) * panPart) }

// timeView is the part of the time that a timeline shows.
type timeView struct {
	many     bool
	top      int
	from, to int64 // session time; both zero: all of it
	critical criticalCache
}

func (t *timeView) reset() { t.top, t.from, t.to, t.critical = 0, 0, 0, criticalCache{} }

// leastWindow is the shortest time that one can zoom in to.
const leastWindow = int64(10 * time.Microsecond)

// ToggleMany shows all pods in the timeline, or the selected one.
func (s *State) ToggleMany() {
	s.time.many = !s.time.many
	s.time.from, s.time.to = 0, 0
}

// ZoomTime makes the time that is shown factor times as long.
func (s *State) ZoomTime(factor float64) {
	v := s.view()
	from, to := s.timeWindow(v)
	middle := float64(from) + float64(to-from)/2
	if n := s.selectedLine(v); n != nil && !s.time.many {
		if sp := s.h.Span(n.span); sp != nil && sp.Start >= from && sp.Start <= to {
			middle = float64(sp.Start)
		}
	}
	half := max(float64(to-from)*factor, float64(leastWindow)) / 2
	s.setTime(int64(middle-half), int64(middle+half), v)
}

// pan moves by a part of the time that is shown.
func (s *State) pan(part float64) {
	v := s.view()
	from, to := s.timeWindow(v)
	by := int64(float64(to-from) * part)
	s.setTime(from+by, to+by, v)
}

func (s *State) setTime(from, to int64, v *view) {
	first, last := s.wholeTime(v)
	if to-from >= last-first {
		s.time.from, s.time.to = 0, 0
		return
	}
	if from < first {
		from, to = first, first+to-from
	}
	if to > last {
		from, to = last-(to-from), last
	}
	s.time.from, s.time.to = from, to
}

// wholeTime returns the time from the beginning of the story, or of all pods, until now.
func (s *State) wholeTime(v *view) (from, to int64) {
	from, to = v.pod(s.pod).First, v.now
	if s.time.many {
		from = v.now
		for i := 1; i < len(v.w.Pods); i++ {
			if f := v.w.Pods[i].First; f != 0 {
				from = min(from, f)
			}
		}
	} else if now := v.pod(s.pod); now.GoneAt != 0 && !now.Worker {
		to = max(now.Last, now.GoneAt)
	}
	return from, max(to, from+leastWindow)
}

func (s *State) timeWindow(v *view) (from, to int64) {
	if s.time.from == 0 && s.time.to == 0 {
		return s.wholeTime(v)
	}
	return s.time.from, s.time.to
}

// timeline returns the story as bars, or one bar for each pod.
func (s *State) timeline(rows int, v *view) *screen.Timeline {
	from, to := s.timeWindow(v)
	t := &screen.Timeline{From: time.Duration(from), To: time.Duration(to), Now: time.Duration(v.now), Many: s.time.many, Cursor: none}
	if s.time.many {
		s.podBars(t, rows, v)
	} else {
		s.callBars(t, rows, v)
	}
	if t.Total == 0 {
		t.Empty = s.lang.In(words.Text("Nothing to show on the timeline yet.", "还没有可以按时间显示的内容。"))
	}
	return t
}

// callBars adds a bar for each row of the story that took time.
func (s *State) callBars(t *screen.Timeline, rows int, v *view) {
	p := s.podAt(s.pod)
	ls := s.layout(p, v.at)
	critical := s.criticalPath(v)
	at := s.cursorPlace(ls, v)
	places := s.barPlaces(ls)
	t.Total = len(places)
	place := history.LowerBound(places, at)
	s.time.top = window(s.time.top, min(place, len(places)-1), rows, len(places), usualMargin)
	t.Top = s.time.top
	for i := t.Top; i < min(t.Top+rows, len(places)); i++ {
		if places[i] == at {
			t.Cursor = i - t.Top
		}
		b := s.callBar(p, ls.line(places[i]), critical, v)
		b.To = max(b.To, b.From) // clocks of foreign events may go back
		t.Bars = append(t.Bars, b)
	}
}

// barPlaces returns the places of the lines that are about calls.
func (s *State) barPlaces(ls *lines) []int {
	out := make([]int, 0, ls.len())
	for i := range ls.len() {
		if k := ls.line(i).kind; k != screen.RowExpected && k != screen.RowNote {
			out = append(out, i)
		}
	}
	return out
}

func (s *State) callBar(p *pod, n *line, critical map[int]bool, v *view) screen.Bar {
	r := s.row(p, n, v)
	b := screen.Bar{ID: r.ID, Label: r.Label, Depth: r.Depth, Mark: r.Mark, Step: r.Step, Span: r.Span}
	if r.Note != "" && n.kind == screen.RowStep {
		b.Label += "  " + words.Cut(r.Note, 40)
	}
	ref := n.span
	if t := p.TurnAt(n.item); n.kind == screen.RowSync && t != nil && t.Span != none {
		ref = t.Span
	}
	if n.kind == screen.RowFolded {
		s.foldBar(p, n, &b, v)
		return b
	}
	sp := s.h.Span(ref)
	if sp == nil {
		if it := p.Items.At(n.item); it != nil {
			b.From = time.Duration(s.h.TimeAt(it.Pos))
		}
		b.To = b.From + r.Took
		return b
	}
	b.From, b.Open = time.Duration(sp.Start), !sp.Over(v.at)
	b.To = b.From + sp.Took(v.at, v.now)
	b.Critical = critical[ref] || n.span != ref && critical[n.span]
	return b
}

// criticalCache keeps the critical path of the last pod that it was worked out for.
type criticalCache struct {
	pod, at, calls int
	spans          map[int]bool
}

// criticalPath returns the calls on the selected pod's critical path.
func (s *State) criticalPath(v *view) map[int]bool {
	p, c := s.podAt(s.pod), &s.time.critical
	if c.spans == nil || c.pod != s.pod || c.at != v.at || c.calls != p.Spans.End() {
		*c = criticalCache{s.pod, v.at, p.Spans.End(), critical.Path(s.h, s.outlines, p.Pod, v.at, v.now)}
	}
	return c.spans
}

// podBars adds one bar for each pod: from the time when it was first seen until it was ready or gone, or until now.
func (s *State) podBars(t *screen.Timeline, rows int, v *view) {
	o := s.order(v)
	t.Total = len(o.rows)
	at := 0
	for i, pp := range o.rows {
		if pp.pod == s.pod {
			at = i
		}
	}
	s.podTop = window(s.podTop, at, rows, len(o.rows), 1)
	t.Top = s.podTop
	for i := t.Top; i < min(t.Top+rows, len(o.rows)); i++ {
		b := s.podBar(o.rows[i], v)
		b.To = max(b.To, b.From)
		t.Bars = append(t.Bars, b)
		if i == at {
			t.Cursor = i - t.Top
		}
	}
}

var barMarks = [...]screen.RowMark{
	life.Held: screen.RowHeld, life.Stuck: screen.RowFailed, life.Retrying: screen.RowWaits, life.Working: screen.RowCurrent, life.Waiting: screen.RowWaits,
	life.Idle: screen.RowDone, life.Done: screen.RowDone, life.Gone: screen.RowDone,
}

func (s *State) podBar(pp podPlace, v *view) screen.Bar {
	now, e := v.pod(pp.pod), &s.podAt(pp.pod).Entity
	b := screen.Bar{ID: "p" + strconv.Itoa(pp.pod), Label: e.NamespacedName(), From: time.Duration(now.First), To: time.Duration(v.now), Mark: barMarks[pp.mark], Pod: &pp.mark, Open: true}
	switch {
	case now.Deleting && now.GoneAt != 0:
		b.To, b.Open = time.Duration(now.GoneAt), false
	case now.ReadyAt != 0:
		b.To, b.Open = time.Duration(now.ReadyAt), false
	case now.GoneAt != 0:
		b.To, b.Open = time.Duration(now.GoneAt), false
	}
	return b
}
