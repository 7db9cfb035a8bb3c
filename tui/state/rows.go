package state

import (
	"strings"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
)

// row puts a line of a story into words.
func (s *State) row(p *pod, n *line, v *view) Row {
	r := Row{ID: n.key.String(), Kind: n.kind, Depth: n.depth, Opens: n.opens, Open: n.open, Hidden: n.hidden, Event: none}
	if it := p.items.at(n.item); it != nil {
		r.Event = it.pos
	}
	switch n.key.kind {
	case keyChapter:
		s.chapterRow(p, n, v, &r)
	case keyExpected:
		st := s.steps.at(n.step)
		r.Step, r.Label, r.Mark = st.name, s.title(st), RowToCome
		r.CRI = st.stage == "cri"
		if st.here != nil && !st.here.Seen {
			r.Mark, r.Error = RowUnseen, Clean(st.here.Why)
		}
	case keyNote:
		s.noteRow(n, &r)
	case keyFold:
		s.foldRow(p, n, v, &r)
	case keyEntry:
		s.entryRow(p, n, v, &r)
	case keyReports:
		r.Times = n.times
		r.Label = s.lang.Say(text("reported besides", "另有上报"))
	case keyUnseen, keyStage, keyHidden:
		s.unseenRow(n, &r)
	case keyToCome:
		st := s.steps.at(n.step)
		r.Step, r.Label, r.Note, r.Mark, r.CRI = st.name, s.title(st), Clean(n.of), RowToCome, true
	case keyRoutine:
		r.Times = n.times
		r.Label = s.lang.Say(text("routine calls around it", "前后的例行调用"))
		if n.times == 1 {
			r.Label = s.lang.Say(text("a routine call around it", "前后的一次例行调用"))
		}
	default:
		s.callRow(p, n, v, &r)
	}
	return r
}

// view is the position at which things are looked at.
type view struct {
	at  int   // events before this one are known
	now int64 // session time
	w   *world
	s   *State
}

func (v *view) pod(i int) *podNow {
	return v.s.podAt(i, v.at)
}

var chapterTitles = [...]probes.Text{
	creation: text("Creation", "创建"), running: text("Running", "运行"), termination: text("Termination", "终止"),
}

func (s *State) chapterRow(p *pod, n *line, v *view, r *Row) {
	c := chapter(n.key.a)
	r.Label = s.lang.Say(chapterTitles[c])
	if p == s.pods[0] {
		r.Label = s.lang.Say(text("The node", "节点"))
	}
	it := p.items.at(n.item)
	if it == nil {
		return
	}
	from, to := s.timeAt(it.pos), v.now
	for _, m := range p.marks {
		if m.chapter > c && m.pos < v.at {
			to = m.at
			break
		}
	}
	now := v.pod(p.place)
	if c == termination && now.goneAt > from {
		to = now.goneAt
	}
	if c == creation && s.epoch.beside && string(lookup(s.arena.at(it.pos), "from").text) == "object" {
		r.Note = s.lang.Say(text("told afterwards: it was before podstep came", "事后得知：发生在 podstep 到来之前"))
		return
	}
	if it.pos < s.arena.first {
		r.Note = s.lang.Say(text("its beginning is no longer kept", "开头部分已不再保留"))
	}
	r.Took = since(from, to)
}

// timeAt is the session time of an event; 0 if it is not kept.
func (s *State) timeAt(pos int) int64 {
	h, ok := s.header(pos)
	if !ok {
		return 0
	}
	return h.Mono + s.epochAt(pos).shift
}

func (s *State) callRow(p *pod, n *line, v *view, r *Row) {
	c := s.call(n.span, v.at)
	if c.span == nil {
		r.Label, r.Note = "…", s.lang.Say(text("no longer kept", "已不再保留"))
		return
	}
	now := v.pod(c.span.pod)
	r.Step, r.Label, r.Span = c.step.name, s.label(&c), c.id
	r.CRI, r.From = c.step.stage == "cri", s.from(&c)
	r.Took, r.At = c.took(v.now), time.Duration(c.start-n.base)
	r.Note = s.noteOf(&c)
	r.Event = c.enter
	r.Mark = s.markOf(&c, n.span, now, v)
	switch {
	case r.Mark == RowHeld:
		r.Left, _ = s.holdEnds(c.span.pod, now, v)
	case s.isLife(c.span.step) && r.Mark == RowCurrent:
		r.Mark, r.Took = RowDone, 0
		r.Note = strings.TrimSpace(r.Note + " " + s.lang.Say(text("goes on", "持续中")))
	}
	if c.err != "" && !(n.open && n.inner) {
		r.Error = cut(oneLine(c.err), 400)
	}
	if n.kind == RowSync {
		s.turnRow(p, n, &c, v, r)
	}
}

// markOf is how far a call is.
func (s *State) markOf(c *call, span int, now *podNow, v *view) RowMark {
	switch {
	case now.held == span:
		return RowHeld
	case c.ended && c.span.failed:
		return RowFailed
	case c.over(v.at):
		return RowDone
	}
	return RowCurrent
}

// turnRow is about the turn as a whole, whose row also stands for its work.
func (s *State) turnRow(p *pod, n *line, c *call, v *view, r *Row) {
	t := p.turns.at(p.items.at(n.item).turn)
	if t == nil {
		return
	}
	r.Label = s.turnLabel(p, t, v)
	if sp := s.spans.at(t.span); sp == nil || sp.enter >= v.at {
		return
	}
	whole := s.call(t.span, v.at)
	r.Took = whole.took(v.now)
	if whole.ended && r.Mark == RowCurrent {
		r.Mark = RowDone
	}
	if whole.ended && whole.span.failed && r.Mark != RowHeld {
		r.Mark = RowFailed
		if !(n.open && n.inner) {
			r.Error = cut(oneLine(whole.err), 400)
		}
	}
	now := v.pod(p.place)
	if r.Mark == RowFailed && now.next > v.now && whole.span.sync == now.sync {
		r.Mark, r.Left = RowWaits, since(v.now, now.next)
	}
	r.Note = s.lang.deedsOf(t, v.at)
	if whole.ended && !t.eventful && t.kind <= turnSync {
		r.Note = s.lang.Say(text("nothing to do", "没有要做的事"))
	}
}

// turnLabel names a turn by what it is for and which one it is.
func (s *State) turnLabel(p *pod, t *turn, v *view) string {
	sp := s.spans.at(t.span)
	if sp == nil || sp.enter >= v.at {
		return s.lang.Say(text("a turn begins", "一轮开始"))
	}
	e := s.call(t.span, v.at)
	return s.lang.turnTitle(t.kind, e.text("updateType"), sp.sync)
}

func (s *State) foldRow(p *pod, n *line, v *view, r *Row) {
	r.Times = n.times
	t := p.turns.at(n.last)
	if t == nil {
		r.Label = "…"
		return
	}
	if it := p.items.at(n.item); it != nil {
		r.At = time.Duration(s.timeAt(it.pos) - n.base)
	}
	r.Step = string(stepTurn)
	r.Label = s.lang.Say(text("sync, each time the same", "同步，每次都一样"))
	whole := s.call(t.span, v.at)
	if whole.span == nil {
		return
	}
	r.Span, r.Took = whole.id, whole.took(v.now)
	now := v.pod(p.place)
	r.Mark = s.markOf(&whole, t.span, now, v)
	if r.Mark == RowFailed && !n.open {
		r.Error = cut(oneLine(whole.err), 400)
	}
	if now.sync == whole.span.sync && r.Mark == RowFailed && now.next > v.now {
		r.Mark, r.Left = RowWaits, since(v.now, now.next)
	}
}

func (s *State) entryRow(p *pod, n *line, v *view, r *Row) {
	r.Times = n.times
	it := p.items.at(n.last)
	if s.steps.is(n.step, stepTurn) {
		r.Step = string(stepTurn)
		r.Label = s.lang.Say(text("sync, nothing to do", "同步，没有要做的事"))
		return
	}
	if it == nil {
		r.Label = "…"
		return
	}
	c := s.call(it.span, v.at)
	if c.span == nil {
		st := s.steps.at(n.step)
		r.Step, r.Label = st.name, s.title(st)
		return
	}
	r.Step, r.Label, r.Span, r.CRI = c.step.name, s.label(&c), c.id, c.step.stage == "cri"
	r.From = s.from(&c)
	r.Note, r.Took = s.noteOf(&c), c.took(v.now)
	r.Mark = s.markOf(&c, it.span, v.pod(c.span.pod), v)
	if s.isLife(c.span.step) {
		r.Mark, r.Took = RowDone, 0
	}
	if s.itemFailed(it, v.at) && !n.open {
		inner := s.call(it.fault, v.at)
		r.Mark, r.Error = RowFailed, cut(oneLine(inner.err), 400)
	}
	if r.Mark == RowHeld {
		r.Left, _ = s.holdEnds(c.span.pod, v.pod(c.span.pod), v)
	}
	first := p.items.at(n.item)
	if s.epoch.beside { // there it stands where it happened last
		first = it
	}
	if first != nil {
		r.At = time.Duration(s.timeAt(first.pos) - n.base)
	}
}

// noteRow is a hold that is over, a fault, a loss.
func (s *State) noteRow(n *line, r *Row) {
	r.Mark, r.Event = RowSaid, n.key.a
	e, ok := s.event(n.key.a)
	if !ok {
		r.Label = s.lang.Say(text("no longer kept", "已不再保留"))
		return
	}
	r.Step = Clean(e.Step)
	r.Label, r.Note = s.lang.noteWords(&e)
	r.Took = max(0, time.Duration(e.DurationNs))
	if e.Error != "" {
		r.Error = cut(oneLine(e.Error), 400)
	}
}

// noteWords says what an event is that is no call.
func (l Lang) noteWords(e *probes.Event) (label, note string) {
	word := func(name string) string { return short(e.Fields[name]) }
	switch e.Kind {
	case probes.Held:
		return l.Say(text("held", "停住")), l.beforeOrAfter(word("on"))
	case probes.Released:
		return l.Say(text("was held", "曾停住")), l.beforeOrAfter(word("on"))
	case probes.Fault:
		if d, ok := e.Fields["delay"]; ok {
			return l.Say(text("podstep delayed it", "podstep 延迟了它")), short(d)
		}
		return l.Say(text("podstep made it fail", "podstep 让它失败")), ""
	case probes.Drop:
		return l.Say(text("events were lost here", "此处有事件丢失")), words(e.Fields)
	}
	if said := word("text"); said != "" {
		return said, ""
	}
	if n := word("foldedSyncs"); n != "" {
		return l.sayf(text("%s earlier syncs are no longer known", "更早的 %s 次同步已不可知"), n), word("foldedEvents")
	}
	return l.Say(text("note", "说明")), words(e.Fields)
}

// beforeOrAfter says where in a call a pod was held.
func (l Lang) beforeOrAfter(on string) string {
	if on == "exit" {
		return l.Say(text("after it", "在它之后"))
	}
	return l.Say(text("before it", "在它之前"))
}

// isHold tells whether the event at a position is a hold.
func (s *State) isHold(pos int) bool {
	h, ok := s.header(pos)
	return ok && h.Kind == agentpb.Kind_HOLD
}

// title is what a step is called in the reader's language.
func (s *State) title(st *step) string {
	switch {
	case st.about != nil:
		return s.lang.Say(st.about.Title)
	case st.name == "":
		return s.lang.Say(text("a step of an unknown name", "未知步骤"))
	}
	return st.name
}

// label is title, with the container where a step is about one.
func (s *State) label(c *call) string {
	if l := s.reportLabel(c); l != "" {
		return l
	}
	if c.step.name != string(stepStartOne) {
		return s.title(c.step)
	}
	name := c.text("container")
	switch c.text("typeName") {
	case "init container":
		return s.lang.sayf(text("Init container %s", "init 容器 %s"), name)
	case "ephemeral container":
		return s.lang.sayf(text("Ephemeral container %s", "临时容器 %s"), name)
	}
	return s.lang.sayf(text("Container %s", "容器 %s"), name)
}
