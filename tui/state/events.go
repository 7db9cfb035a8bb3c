package state

import (
	"strings"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/wording"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/filter"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

func init() { mainPanes[screen.MainEvents] = eventsPane{} }

// eventsPane is the list of events: of the selected pod, or of all.
type eventsPane struct{}

func (eventsPane) body(s *State, rows int, v *view) screen.Body { return s.eventList(rows, v) }
func (eventsPane) move(s *State, rows int, v *view)             { s.events.move(s, rows, v) }
func (eventsPane) end(s *State)                                 { s.events.toEnd() }
func (eventsPane) open(s *State, v *view)                       { s.openEvent(v) }
func (eventsPane) back(*State, *view) bool                      { return false }
func (eventsPane) toggleFollow(s *State, v *view)               { s.events.toggleFollow(s, v) }

func (eventsPane) nextError(s *State, dir int, v *view) bool { return s.events.nextError(s, dir, v) }

// scrollColumns is how many columns a key scrolls by.
const scrollColumns = 8

func (eventsPane) sideways(s *State, dir int) {
	s.events.offset = max(0, s.events.offset+dir*scrollColumns)
}

// scanPerFrame bounds how many events a filter looks at for one frame, and decodePerFrame how many of these it
// decodes.
const (
	scanPerFrame   = 50_000
	decodePerFrame = 2_000
)

// eventsView is the reader's place in the list of events. The events of one pod, and those that match a filter, are
// found bit by bit, from the newest to the oldest, so that no frame waits for a large file.
type eventsView struct {
	many   bool // the events of all pods
	follow bool
	cursor int // position of the selected event; none: none yet
	top    int // place of the first row among those that match
	offset int
	left   int // the end of the events when the reader stopped following

	newer []int // positions that match, at start and after it
	older []int // those before start, newest first
	start int   // where the search began; none: not yet
	seen  int   // the next position to look at, going forward
	back  int   // the position after the next to look at, going back
}

func newEventsView() eventsView { return eventsView{follow: true, cursor: none, start: none} }

// reset forgets what was found, because the filter or the pod has changed.
func (l *eventsView) reset() {
	l.newer, l.older, l.start, l.top = nil, nil, none, 0
}

// showsAll reports whether the list leaves out no event.
func (l *eventsView) showsAll(s *State) bool { return l.many && s.filter == nil }

// ofPod reports whether only the selected pod's events are listed. They are, unless the person asks for those of all
// pods, or names pods by a filter.
func (l *eventsView) ofPod(s *State) bool {
	return !l.many && (s.filter == nil || !s.filter.NamesPods())
}

func (l *eventsView) forgetBefore(before int) {
	for n := len(l.older); n > 0 && l.older[n-1] < before; n-- {
		l.older = l.older[:n-1]
	}
	for len(l.newer) > 0 && l.newer[0] < before {
		l.newer = l.newer[1:]
	}
	l.back = max(l.back, before)
	l.seen = max(l.seen, before)
}

// scan looks at some more events.
func (l *eventsView) scan(s *State, at int) {
	if l.start == none {
		l.start = at
		l.seen, l.back = at, at
	}
	left, decodes := scanPerFrame, decodePerFrame
	for ; l.seen < s.h.End() && left > 0 && decodes > 0; l.seen, left = l.seen+1, left-1 {
		if s.matches(l.seen, &decodes) {
			l.newer = append(l.newer, l.seen)
		}
	}
	for ; l.back > s.h.First() && left > 0 && decodes > 0; left-- {
		l.back--
		if s.matches(l.back, &decodes) {
			l.older = append(l.older, l.back)
		}
	}
}

// whoseEvents returns the name of the selected pod, or of the node.
func (s *State) whoseEvents() string {
	if s.pod == 0 {
		return words.Clean(s.h.Epoch().Info.GetNode())
	}
	return s.podAt(s.pod).Entity.NamespacedName()
}

// matches reports whether the list has the event at a position: by its pod, and by the filter.
func (s *State) matches(pos int, decodes *int) bool {
	h, ok := s.h.Header(pos)
	if !ok {
		return false
	}
	e := s.h.EpochAt(pos)
	if s.events.ofPod(s) && e.PodOf(h.Pod) != s.pod {
		return false
	}
	if s.filter == nil {
		return true
	}
	st := s.h.Step(e.StepOf(h.Step))
	out := probes.Event{
		Seq: h.Seq, Kind: wireKind(h.Kind), Stage: st.Stage, Step: st.Name, Span: h.Span, Parent: h.Parent, Sync: h.Sync,
		Goroutine: e.Goroutine(h.Goroutine), DurationNs: h.Duration, Probe: e.Probe(&h), Error: string(h.ErrorText),
	}
	if h.Pod != 0 {
		out.Pod = &s.podAt(e.PodOf(h.Pod)).Entity
	}
	switch s.filter.MatchOutline(&out) {
	case filter.Yes:
		return true
	case filter.No:
		return false
	}
	*decodes--
	ev, ok := s.h.Event(pos)
	return ok && s.filter.Match(&ev)
}

// total returns how many events before a position are known to match. place returns the i-th of them.
func (l *eventsView) total(s *State, at int) int {
	if l.showsAll(s) {
		return at - s.h.First()
	}
	return len(l.older) + history.LowerBound(l.newer, at)
}

func (l *eventsView) place(s *State, i int) int {
	if l.showsAll(s) {
		return s.h.First() + i
	}
	if n := len(l.older); i < n {
		return l.older[n-1-i]
	} else {
		return l.newer[i-n]
	}
}

// index returns the place in the list of the last event at or before a position.
func (l *eventsView) index(s *State, pos, total int) int {
	lo, hi := 0, total
	for lo < hi {
		if mid := (lo + hi) / 2; l.place(s, mid) <= pos {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo - 1
}

// eventList returns the rows that fit.
func (s *State) eventList(rows int, v *view) *screen.EventList {
	l := &s.events
	if !l.showsAll(s) {
		l.scan(s, v.at)
	}
	total := l.total(s, v.at)
	out := &screen.EventList{Total: total, Cursor: none, Follow: l.follow && !s.frozen(), Filter: words.Clean(s.filterText), Offset: l.offset}
	out.More = !l.showsAll(s) && l.back > s.h.First()
	if l.ofPod(s) {
		out.Of = s.whoseEvents()
	}
	at := total - 1
	if !l.follow && l.cursor != none {
		at = max(min(0, total-1), l.index(s, l.cursor, total))
	}
	l.top = window(l.top, at, rows, total, usualMargin)
	out.Top = l.top
	for i := l.top; i < min(l.top+rows, total); i++ {
		out.Rows = append(out.Rows, s.eventRow(l.place(s, i)))
		if i == at {
			out.Cursor = i - l.top
		}
	}
	if !l.follow {
		out.Newer = total - 1 - l.index(s, l.left-1, total)
	}
	if total == 0 {
		out.Empty = s.lang.In(words.Text("No events yet.", "还没有事件。"))
		if s.filter != nil {
			out.Empty = s.lang.In(words.Text("No event matches the filter.", "没有事件符合过滤条件。"))
		}
	}
	return out
}

func (s *State) eventRow(pos int) screen.EventRow {
	e, _ := s.h.Event(pos)
	e.Step, e.Stage, e.Goroutine = words.Clean(e.Step), words.Clean(e.Stage), words.Clean(e.Goroutine)
	if e.Pod != nil {
		h, _ := s.h.Header(pos)
		e.Pod = &s.podAt(s.h.EpochAt(pos).PodOf(h.Pod)).Entity
	}
	r := screen.EventRow{Pos: pos, Text: wording.Fields(e.Fields)}
	if e.Fields["note"] == agentpb.NoteLog {
		r.Text = s.lang.In(reason.Note(e.Fields))
	}
	if e.Error != "" {
		e.Error = words.OneLine(e.Error)
		r.Text = strings.TrimRight(words.Cut(e.Error, 600)+"  "+r.Text, " ")
	}
	e.Fields = nil
	r.Event = e
	return r
}

// move moves the selection, and stops following.
func (l *eventsView) move(s *State, rows int, v *view) {
	total := l.total(s, v.at)
	if total == 0 {
		return
	}
	at := total - 1
	if !l.follow && l.cursor != none {
		at = max(0, l.index(s, l.cursor, total))
	}
	l.stopFollowing(s)
	l.cursor = l.place(s, max(0, min(at+rows, total-1)))
}

func (l *eventsView) stopFollowing(s *State) {
	if l.follow {
		l.follow, l.left = false, s.h.End()
	}
}

// Many reports whether the present view shows all pods. Only timeline, events and durations can.
func (s *State) Many() bool {
	return s.main == screen.MainTop && !s.top.one || s.main == screen.MainTimeline && s.time.many || s.main == screen.MainEvents && s.events.many
}

// ToggleManyEvents lists the events of all pods, or of the selected one.
func (s *State) ToggleManyEvents() {
	s.events.many = !s.events.many
	s.events.reset()
}

func (l *eventsView) toEnd() { l.follow, l.cursor = true, none }

func (l *eventsView) toggleFollow(s *State, v *view) {
	if l.follow {
		l.move(s, 0, v)
		return
	}
	l.toEnd()
}

// nextError selects the next event with an error among those that match. It
// looks only as far as one frame may.
func (l *eventsView) nextError(s *State, dir int, v *view) bool {
	total := l.total(s, v.at)
	at := total - 1
	if !l.follow && l.cursor != none {
		at = l.index(s, l.cursor, total)
	}
	for i, n := at+dir, 0; i >= 0 && i < total && n < scanPerFrame && dir != 0; i, n = i+dir, n+1 {
		pos := l.place(s, i)
		if h, ok := s.h.Header(pos); ok && h.HasError {
			l.stopFollowing(s)
			l.cursor = pos
			return true
		}
	}
	return false
}

// selected returns the position of the selected event, or none.
func (l *eventsView) selected(s *State, v *view) int {
	total := l.total(s, v.at)
	at := total - 1
	if !l.follow && l.cursor != none {
		at = l.index(s, l.cursor, total)
	}
	if at < 0 || at >= total {
		return none
	}
	return l.place(s, at)
}

// eventLine returns the selected event as a line of a story: its call, or its note.
func (s *State) eventLine(v *view) *line {
	pos := s.events.selected(s, v)
	h, ok := s.h.Header(pos)
	if !ok {
		return nil
	}
	if ref := s.h.SpanOf(pos, &h); ref != none {
		return &line{key: lineKey{kind: keySpan, a: ref}, kind: screen.RowStep, span: ref, item: none}
	}
	return &line{key: lineKey{kind: keyNote, a: pos}, kind: screen.RowNote, span: none, item: none}
}

// openEvent goes from an event to its call in the story of its pod.
func (s *State) openEvent(v *view) {
	pos := s.events.selected(s, v)
	h, ok := s.h.Header(pos)
	if !ok {
		return
	}
	e := s.h.EpochAt(pos)
	s.selectPod(e.PodOf(h.Pod))
	s.main, s.focus = screen.MainStory, screen.PaneMain
	if ref := s.h.SpanOf(pos, &h); ref != none {
		s.reveal(s.podAt(s.pod), ref, v)
	}
}
