package state

import (
	"strings"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/agent/story/outline"
	"github.com/podstep/podstep/agent/story/wording"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// row puts a line of a story into words.
func (s *State) row(p *pod, n *line, v *view) screen.Row {
	r := screen.Row{ID: n.key.String(), Kind: n.kind, Depth: n.depth, Opens: n.opens, Open: n.open, Hidden: n.hidden, Event: none}
	if it := p.Items.At(n.item); it != nil {
		r.Event = it.Pos
	}
	switch n.key.kind {
	case keyChapter:
		s.chapterRow(p, n, v, &r)
	case keyExpected, keyCall:
		s.expectedRow(n, v, &r)
	case keyNote:
		s.noteRow(n, &r)
	case keyFold:
		s.foldRow(p, n, v, &r)
	case keyEntry:
		s.entryRow(p, n, v, &r)
	case keyReports:
		r.Times = n.times
		r.Label = s.lang.In(words.Text("also reported", "另有上报"))
	case keyUnseen, keyStage, keyHidden:
		s.unseenRow(n, v, &r)
	case keyRoutine:
		r.Times = n.times
		r.Label = s.lang.In(words.Text("routine calls around it", "前后的例行调用"))
		if n.times == 1 {
			r.Label = s.lang.In(words.Text("a routine call around it", "前后的一次例行调用"))
		}
	default:
		s.callRow(p, n, v, &r)
	}
	if r.Step != "" && n.key.kind != keyNote {
		r.Point = s.pointAtStep(p, r.Step)
	}
	return r
}

// view is the position that a frame shows.
type view struct {
	at  int   // events before this one are known
	now int64 // session time
	w   *life.World
	s   *State
}

func (v *view) pod(i int) *life.Pod {
	return v.w.Pod(i)
}

var chapterTitles = [...]probes.Text{
	outline.Creation: words.Text("Creation", "创建"), outline.Running: words.Text("Running", "运行"), outline.Termination: words.Text("Termination", "终止"),
}

func (s *State) chapterRow(p *pod, n *line, v *view, r *screen.Row) {
	c := outline.Chapter(n.key.a)
	r.Label = s.lang.In(chapterTitles[c])
	if p == s.podAt(0) {
		r.Label = s.lang.In(words.Text("The node", "节点"))
	}
	it := p.Items.At(n.item)
	if it == nil {
		return
	}
	from, to := s.h.TimeAt(it.Pos), v.now
	for _, m := range p.Marks {
		if m.Chapter > c && m.Pos < v.at {
			to = m.At
			break
		}
	}
	now := v.pod(p.Place)
	if c == outline.Termination && now.GoneAt > from {
		to = now.GoneAt
	}
	if c == outline.Creation && !s.knewTurns(it.Pos) && string(wire.Lookup(s.h.Raw(it.Pos), "from").Text) == "object" {
		r.Note = s.lang.In(words.Text("reported afterwards: it happened before podstep came", "事后得知：发生在 podstep 到来之前"))
		return
	}
	if it.Pos < s.h.First() {
		r.Note = s.lang.In(words.Text("its beginning is no longer kept", "开头部分已不再保留"))
	}
	r.Took = history.Since(from, to)
}

func (s *State) callRow(p *pod, n *line, v *view, r *screen.Row) {
	c := s.h.Call(n.span, v.at)
	if c.Span == nil {
		r.Label, r.Note = "…", s.lang.In(words.Text("no longer kept", "已不再保留"))
		return
	}
	now := v.pod(c.Span.Pod)
	r.Step, r.Label, r.Span = c.Step.Name, wording.Label(s.lang, &c), c.ID
	r.CRI, r.From = c.Step.Stage == "cri", wording.From(&c)
	r.Took, r.At = c.Took(v.now), time.Duration(c.Start-n.base)
	r.Note = s.note(p, &c)
	r.Event = c.Enter
	r.Mark = s.markOf(&c, n.span, now, v)
	switch {
	case r.Mark == screen.RowHeld:
		r.Left, _ = s.holdEnds(c.Span.Pod, now, v)
	case s.outlines.IsLife(c.Span.Step) && r.Mark == screen.RowCurrent:
		r.Mark, r.Took = screen.RowDone, 0
		r.Note = strings.TrimSpace(r.Note + " " + s.lang.In(words.Text("goes on", "持续中")))
	}
	if err := s.errorOf(&c); err != "" && !(n.open && n.inner) {
		r.Error = words.Cut(words.OneLine(err), 400)
	}
	if n.kind == screen.RowSync {
		s.turnRow(p, n, &c, v, r)
	}
}

// errorOf returns the error with which a call ended. The runtime's SyncPod returns none: the errors of its work are
// in its result.
func (s *State) errorOf(c *history.Call) string {
	if c.Err == "" && c.Ended && s.h.Role(c.Span.Step) == probes.RoleRuntime {
		return c.Text("resultError")
	}
	return c.Err
}

// markOf says how far a call has come.
func (s *State) markOf(c *history.Call, span int, now *life.Pod, v *view) screen.RowMark {
	switch {
	case now.Held == span:
		return screen.RowHeld
	case c.Ended && (c.Span.Failed || s.errorOf(c) != "") && !s.h.IsRequest(c.Span.Step):
		return screen.RowFailed
	case c.Over(v.at):
		return screen.RowDone
	}
	return screen.RowCurrent
}

// turnRow fills in the row of a turn, which also stands for the turn's work.
func (s *State) turnRow(p *pod, n *line, c *history.Call, v *view, r *screen.Row) {
	t := p.Turns.At(p.Items.At(n.item).Turn)
	if t == nil {
		return
	}
	r.Label = s.turnLabel(p, t, v)
	if sp := s.h.Span(t.Span); sp == nil || sp.Enter >= v.at {
		return
	}
	whole := s.h.Call(t.Span, v.at)
	r.Took = whole.Took(v.now)
	if whole.Ended && r.Mark == screen.RowCurrent {
		r.Mark = screen.RowDone
	}
	if whole.Ended && whole.Span.Failed && r.Mark != screen.RowHeld {
		r.Mark = screen.RowFailed
		if !(n.open && n.inner) {
			r.Error = words.Cut(words.OneLine(whole.Err), 400)
		}
	}
	now := v.pod(p.Place)
	if r.Mark == screen.RowFailed && now.Next > v.now && whole.Span.Sync == now.Sync {
		r.Mark, r.Left = screen.RowWaits, history.Since(v.now, now.Next)
	}
	r.Note = wording.Changes(s.lang, t, v.at)
	if whole.Ended && !t.Eventful && t.Kind <= outline.Sync {
		r.Note = s.lang.In(words.Text("nothing to do", "没有要做的事"))
	}
}

// turnLabel names a turn by its purpose and its number.
func (s *State) turnLabel(p *pod, t *outline.Turn, v *view) string {
	sp := s.h.Span(t.Span)
	if sp == nil || sp.Enter >= v.at {
		return s.lang.In(words.Text("a turn begins", "一轮开始"))
	}
	e := s.h.Call(t.Span, v.at)
	return wording.Turn(s.lang, t.Kind, e.Text("updateType"), sp.Sync)
}

func (s *State) foldRow(p *pod, n *line, v *view, r *screen.Row) {
	r.Times = n.times
	t := p.Turns.At(n.last)
	if t == nil {
		r.Label = "…"
		return
	}
	if it := p.Items.At(n.item); it != nil {
		r.At = time.Duration(s.h.TimeAt(it.Pos) - n.base)
	}
	r.Step = s.h.Step(s.h.StepFor(probes.RoleTurn)).Name
	r.Label = s.lang.In(words.Text("sync, each time the same", "同步，每次都一样"))
	whole := s.h.Call(t.Span, v.at)
	if whole.Span == nil {
		return
	}
	r.Span, r.Took = whole.ID, whole.Took(v.now)
	now := v.pod(p.Place)
	r.Mark = s.markOf(&whole, t.Span, now, v)
	if r.Mark == screen.RowFailed && !n.open {
		r.Error = words.Cut(words.OneLine(whole.Err), 400)
	}
	if now.Sync == whole.Span.Sync && r.Mark == screen.RowFailed && now.Next > v.now {
		r.Mark, r.Left = screen.RowWaits, history.Since(v.now, now.Next)
	}
}

func (s *State) entryRow(p *pod, n *line, v *view, r *screen.Row) {
	r.Times = n.times
	it := p.Items.At(n.last)
	if s.h.Role(n.step) == probes.RoleTurn {
		r.Step = s.h.Step(n.step).Name
		r.Label = s.lang.In(words.Text("sync, nothing to do", "同步，没有要做的事"))
		return
	}
	if it == nil {
		r.Label = "…"
		return
	}
	c := s.h.Call(it.Span, v.at)
	if c.Span == nil {
		st := s.h.Step(n.step)
		r.Step, r.Label = st.Name, s.title(st)
		return
	}
	r.Step, r.Label, r.Span, r.CRI = c.Step.Name, wording.Label(s.lang, &c), c.ID, c.Step.Stage == "cri"
	r.From = wording.From(&c)
	r.Note, r.Took = s.note(p, &c), c.Took(v.now)
	r.Mark = s.markOf(&c, it.Span, v.pod(c.Span.Pod), v)
	if s.outlines.IsLife(c.Span.Step) {
		r.Mark, r.Took = screen.RowDone, 0
	}
	if s.outlines.ItemFailed(it, v.at) && !n.open {
		inner := s.h.Call(it.Fault, v.at)
		r.Mark, r.Error = screen.RowFailed, words.Cut(words.OneLine(inner.Err), 400)
	}
	if r.Mark == screen.RowHeld {
		r.Left, _ = s.holdEnds(c.Span.Pod, v.pod(c.Span.Pod), v)
	}
	first := p.Items.At(n.item)
	if !s.knewTurns(it.Pos) { // there the row stands where it happened last
		first = it
	}
	if first != nil {
		r.At = time.Duration(s.h.TimeAt(first.Pos) - n.base)
	}
}

// noteRow puts a past hold, a fault or a loss into words.
func (s *State) noteRow(n *line, r *screen.Row) {
	r.Mark, r.Event = screen.RowNoted, n.key.a
	e, ok := s.h.Event(n.key.a)
	if !ok {
		r.Label = s.lang.In(words.Text("no longer kept", "已不再保留"))
		return
	}
	r.Step = words.Clean(e.Step)
	r.Label, r.Note = wording.Event(s.lang, &e)
	r.Took = max(0, time.Duration(e.DurationNs))
	if e.Error != "" {
		r.Error = words.Cut(words.OneLine(e.Error), 400)
	}
}

// note returns the result of a pod's call, in words. Where no turns are seen it names the container, because no call
// around it does.
func (s *State) note(p *pod, c *history.Call) string {
	if s.knewTurns(c.Enter) {
		return wording.Note(s.lang, c, nil)
	}
	return wording.Note(s.lang, c, p.Names)
}

// isHold reports whether the event at a position is a hold.
func (s *State) isHold(pos int) bool {
	h, ok := s.h.Header(pos)
	return ok && h.Kind == agentpb.Kind_HOLD
}

// title returns the name of a step in the reader's language.
func (s *State) title(st *history.Step) string { return s.lang.In(st.Title()) }
