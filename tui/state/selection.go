package state

import (
	"slices"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/tui/screen"
)

// cursorPlace returns the place of the selected row. That is the current step while the reader follows, else the row
// that was selected, or the nearest row that is left. If later events have folded the row away, cursorPlace opens it
// again and updates ls: a reader does not lose a row to which they have come.
func (s *State) cursorPlace(ls *lines, v *view) int {
	if ls.len() == 0 {
		return none
	}
	if s.follow {
		at := s.currentPlace(ls, v)
		s.cursor, s.cursorAt = ls.line(at).key, at
		return at
	}
	at := ls.find(s.cursor, s.cursorAt)
	if at == none && s.openCursor(v) {
		*ls = *s.layout(s.podAt(s.pod), v.at)
		at = ls.find(s.cursor, none)
	}
	if at == none {
		at = s.nearest(ls)
		s.cursor = ls.line(at).key
	}
	s.cursorAt = at
	return at
}

// currentPlace returns the row at which the pod is: the step that its worker is in, or else what happened last.
func (s *State) currentPlace(ls *lines, v *view) int {
	now := v.pod(s.pod)
	want := now.At
	if now.Held != none {
		want = now.Held
	}
	if !v.knows().Turns {
		return s.latestPlace(ls, want)
	}
	last := none
	for i := ls.len() - 1; i >= max(0, ls.len()-currentRows) && want != none; i-- {
		if n := ls.line(i); n.kind != screen.RowExpected && n.kind != screen.RowNote && n.span == want {
			return i
		}
	}
	if want != none {
		if at := s.innermostOpen(ls, v); at != none {
			return at
		}
	}
	for i := ls.len() - 1; i >= max(0, ls.len()-currentRows); i-- {
		if n := ls.line(i); n.kind == screen.RowSync || n.kind == screen.RowFolded && n.key.kind == keyFold && !n.open {
			return s.failedIn(ls, i, v)
		} else if last == none && n.kind != screen.RowExpected {
			last = i
		}
	}
	return max(last, 0)
}

// failedIn returns the row in a turn where it failed, or the turn's own row if it did not fail.
func (s *State) failedIn(ls *lines, turn int, v *view) int {
	for i := turn + 1; i < ls.len() && ls.line(i).depth > ls.line(turn).depth; i++ {
		if s.lineFailed(ls.line(i), v) {
			return i
		}
	}
	return turn
}

// currentRows bounds how far up the current step is searched: it is near the end of every story.
const currentRows = 2000

// innermostOpen returns the last row of a call on the worker that goes on.
func (s *State) innermostOpen(ls *lines, v *view) int {
	for i := ls.len() - 1; i >= max(0, ls.len()-currentRows); i-- {
		n := ls.line(i)
		if sp := s.h.Span(n.span); sp != nil && sp.Worker && !sp.Over(v.at) {
			return i
		}
	}
	return none
}

// openCursor opens the rows around the selected call or turn. It returns false if no call or turn is selected, or
// only one of another time.
func (s *State) openCursor(v *view) bool {
	p := s.podAt(s.pod)
	switch sp := s.h.Span(s.cursor.a); s.cursor.kind {
	case keySpan:
		if sp == nil || sp.Pod != s.pod || sp.Enter >= v.at {
			return false
		}
		s.openCall(p, s.cursor.a)
	case keyTurn:
		if it := p.Items.At(s.cursor.a); it == nil || it.Pos >= v.at {
			return false
		}
		s.openItem(p, s.cursor.a)
	default:
		return false
	}
	s.version++
	return true
}

// nearest returns the row that stands for the selected one if that is not shown: the row of the call or turn around
// it, or the row at its place.
func (s *State) nearest(ls *lines) int {
	if s.cursor.kind == keySpan {
		for sp := s.h.Span(s.cursor.a); sp != nil; sp = s.h.Span(sp.Parent) {
			around := []lineKey{{kind: keySpan, a: sp.Parent}, {kind: keyTurn, a: sp.Item}}
			if up := s.h.Span(sp.Parent); up == nil || up.Item != sp.Item {
				slices.Reverse(around) // the turn is within the calls around its call
			}
			for _, k := range around {
				if at := ls.find(k, none); at != none && k.a != none {
					return at
				}
			}
		}
	}
	return max(0, min(s.cursorAt, ls.len()-1))
}

// selectedLine returns the selected row of the story, or nil.
func (s *State) selectedLine(v *view) *line {
	ls := s.layout(s.podAt(s.pod), v.at)
	if at := s.cursorPlace(ls, v); at != none {
		n := *ls.line(at)
		return &n
	}
	return nil
}

// shownLine returns the line that the detail is about: the selected event where events are listed, the worst call of the
// selected step where durations are, else the selected row of the story.
func (s *State) shownLine(v *view) *line {
	switch s.main {
	case screen.MainEvents:
		return s.eventLine(v)
	case screen.MainTop:
		return s.worstLine(v)
	}
	return s.selectedLine(v)
}

// SelectPod selects a pod. The selection then follows the pod's story.
func (s *State) SelectPod(k screen.PodKey) {
	if int(k) < s.h.Pods() {
		s.selectPod(int(k))
	}
}

func (s *State) selectPod(i int) {
	s.picked = true
	if i == s.pod {
		return
	}
	s.pod, s.follow, s.detailTop, s.storyTop, s.causeRow = i, true, 0, 0, 0
	s.cursor, s.cursorAt = lineKey{}, 0
	s.time.reset()
	if s.events.ofPod(s) {
		s.events.reset()
	}
}

// SelectPodOf selects the pod of that uid. If that pod is not known, it selects nothing and returns false.
func (s *State) SelectPodOf(uid string) bool {
	i, ok := s.h.PodOf(uid)
	if ok {
		s.selectPod(i)
	}
	return ok
}

// SelectPodNamed selects the pod of that name. If there are several, it selects the one that was seen last.
func (s *State) SelectPodNamed(namespace, name string) bool {
	i := s.podNamed(namespace, name)
	if i != 0 {
		s.selectPod(i)
	}
	return i != 0
}

// podNamed returns the pod of that name that was seen last, or 0.
func (s *State) podNamed(namespace, name string) int {
	for i := s.h.Pods() - 1; i > 0; i-- {
		if e := &s.podAt(i).Entity; e.Namespace == namespace && e.Name == name {
			return i
		}
	}
	return 0
}

// SelectRow selects a row of the story by its ID.
func (s *State) SelectRow(id string) {
	k, ok := parseKey(id)
	if !ok {
		return
	}
	v := s.view()
	ls := s.layout(s.podAt(s.pod), v.at)
	if at := ls.find(k, none); at != none {
		s.selectLine(ls, at)
	}
}

// RevealRow selects a row of the story by its ID, and opens the rows around it.
func (s *State) RevealRow(id string) {
	k, ok := parseKey(id)
	if !ok {
		return
	}
	p := s.podAt(s.pod)
	switch {
	case k.kind == keySpan && s.h.Span(k.a) != nil && s.h.Span(k.a).Pod == s.pod:
		s.reveal(p, k.a, s.view())
		return
	case k.kind == keyTurn && p.Items.At(k.a) != nil:
		s.openItem(p, k.a)
		s.version++
	}
	s.SelectRow(id)
}

// SelectStep selects the latest call of a step in the selected pod's story, and opens the rows around it. If the pod
// is held at the step, it selects the held call: another goroutine may make a later one. It returns false if there
// is no call of the step.
func (s *State) SelectStep(step string) bool {
	id := s.h.StepNamed(step)
	if id == 0 {
		return false
	}
	v := s.view()
	p := s.podAt(s.pod)
	if held := v.pod(s.pod).Held; held != none {
		if sp := s.h.Span(held); sp != nil && sp.Step == id {
			return s.reveal(p, held, v)
		}
	}
	for i, n := p.Spans.End()-1, 0; i >= p.Spans.First && n < 10*history.LookBack; i, n = i-1, n+1 {
		ref := *p.Spans.At(i)
		if sp := s.h.Span(ref); sp != nil && sp.Step == id && sp.Enter < v.at {
			return s.reveal(p, ref, v)
		}
	}
	return false
}

// SelectCall selects a call in the selected pod's story, by the agent's number of its span. It returns false if the
// call has not been seen there.
func (s *State) SelectCall(span uint64) bool {
	ref := s.h.FindSpan(span)
	if ref == none || s.h.Span(ref).Pod != s.pod {
		return false
	}
	return s.reveal(s.podAt(s.pod), ref, s.view())
}

// reveal opens all rows around a call, and selects it.
func (s *State) reveal(p *pod, ref int, v *view) bool {
	want := s.openCall(p, ref)
	s.version++
	ls := s.layout(p, v.at)
	if at := ls.find(want, none); at != none {
		s.selectLine(ls, at)
		return true
	}
	return false
}

// openCall opens all rows around a call, and returns the key of the call's row. A turn has one row for itself and
// for its work.
func (s *State) openCall(p *pod, ref int) lineKey {
	sp := s.h.Span(ref)
	s.openItem(p, sp.Item)
	for up := s.h.Span(sp.Parent); up != nil && up.Item == sp.Item; up = s.h.Span(up.Parent) {
		p.setOpen(lineKey{kind: keySpan, a: *p.Spans.At(up.Ordinal)}, true)
	}
	it := p.Items.At(sp.Item)
	if t := p.TurnOf(sp); t != nil && (t.Span == ref || t.Work == ref) {
		return lineKey{kind: keyTurn, a: sp.Item}
	}
	if it != nil && it.Turn != none {
		p.setOpen(lineKey{kind: keyTurn, a: sp.Item}, true)
	}
	return lineKey{kind: keySpan, a: ref}
}

// openItem opens the folds around an item.
func (s *State) openItem(p *pod, item int) {
	g := p.Segments.Of(item)
	if g == nil {
		return
	}
	p.revealed = item
	p.setOpen(lineKey{kind: keyChapter, a: int(g.Chapter)}, true)
	it := p.Items.At(item)
	for _, t := range g.Tries {
		if lead := p.Turns.At(g.Tries[0]); it.Turn == t && len(g.Tries) > 1 && lead != nil {
			p.setOpen(lineKey{kind: keyFold, a: lead.Item}, true)
			return
		}
	}
	for _, e := range g.Entries {
		sp := s.h.Span(it.Span)
		turn := s.h.Role(e.Step) == probes.RoleTurn && it.Turn != none
		if e.N > 1 && (turn || sp != nil && sp.Step == e.Step && it.Sub == e.Sub) {
			p.setOpen(entryKey(&e), true)
		}
		if fold := s.foldOf(p, g, &e, s.view().at); fold != 0 && (turn || sp != nil && sp.Step == e.Step) {
			p.setOpen(lineKey{kind: fold, a: g.First}, true)
		}
	}
}

// Selected returns the selected pod; ok is false if none is selected, or the node is.
func (s *State) Selected() (screen.PodKey, *probes.Pod, bool) {
	s.pick(s.view())
	if s.pod == 0 {
		return 0, nil, false
	}
	e := s.podAt(s.pod).Entity
	return screen.PodKey(s.pod), &e, true
}

// SelectedStep returns the step of the selected row or event; empty if it has none.
func (s *State) SelectedStep() string {
	if n := s.shownLine(s.view()); n != nil {
		return s.h.Step(s.stepOf(n)).Name
	}
	return ""
}

// CurrentStep returns the step that a pod is in; empty if its worker is in none.
func (s *State) CurrentStep(k screen.PodKey) string {
	v := s.view()
	p := v.pod(int(k))
	switch {
	case p.Holds > 0:
		return s.heldStep(p)
	case p.At == none:
		return ""
	}
	return s.h.Step(p.Step).Name
}

// Seen finds the first event of a kind at a step of a pod, at a position or later. An empty kind means any kind, and
// an empty step any step.
func (s *State) Seen(k screen.PodKey, step string, kind probes.Kind, from int) (pos int, ok bool) {
	if int(k) >= s.h.Pods() {
		return none, false
	}
	id := s.h.StepNamed(step)
	if id == 0 && step != "" {
		return none, false
	}
	p := s.podAt(int(k))
	for _, pos := range p.Events.All[history.LowerBound(p.Events.All, from):] {
		h, ok := s.h.Header(pos)
		if !ok || step != "" && s.h.EpochAt(pos).StepOf(h.Step) != id {
			continue
		}
		if kind == "" || wireKind(h.Kind) == kind {
			return pos, true
		}
	}
	return none, false
}

// NextError selects the next row that failed, or the previous one if dir is negative. It returns false if there is
// none.
func (s *State) NextError(dir int) bool {
	return s.mainPane().nextError(s, dir, s.view())
}

// nextFailed is NextError in the selected pod's story.
func (s *State) nextFailed(dir int, v *view) bool {
	p := s.podAt(s.pod)
	ls := s.layout(p, v.at)
	at := s.cursorPlace(ls, v)
	if at == none {
		return false
	}
	for i := at + dir; i >= 0 && i < ls.len() && dir != 0; i += dir {
		if s.lineFailed(ls.line(i), v) {
			s.selectLine(ls, i)
			return true
		}
	}
	return false
}

func (s *State) lineFailed(n *line, v *view) bool {
	if n.open && n.inner {
		return false
	}
	sp := s.h.Span(n.span)
	return sp != nil && sp.Failed && sp.Over(v.at)
}
