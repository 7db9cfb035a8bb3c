package state

import (
	"slices"

	"github.com/podstep/podstep/tui/screen"
)

// Move moves the selection of the pane that has the keys by some rows.
func (s *State) Move(rows int) {
	v := s.view()
	switch s.focus {
	case screen.PanePods:
		s.movePod(rows, v)
	case screen.PaneDetail:
		s.detailTop = max(0, s.detailTop+rows)
	default:
		s.mainPane().move(s, rows, v)
	}
}

func (s *State) movePod(rows int, v *view) {
	o := s.order(v)
	if len(o.rows) == 0 {
		return
	}
	at := slices.IndexFunc(o.rows, func(p podPlace) bool { return p.pod == s.pod })
	s.selectPod(o.rows[max(0, min(at+rows, len(o.rows)-1))].pod)
}

func (s *State) moveStory(rows int, v *view) {
	ls := s.layout(s.podAt(s.pod), v.at)
	if ls.len() == 0 {
		return
	}
	at := max(0, min(s.cursorPlace(ls, v)+rows, ls.len()-1))
	s.selectLine(ls, at)
}

// selectLine selects a row. The selection then stops following the pod, unless the row is where the pod is now.
func (s *State) selectLine(ls *lines, at int) {
	if at == s.currentPlace(ls, s.view()) {
		s.follow = true
	} else {
		s.unfollow()
	}
	s.cursor, s.cursorAt, s.detailTop = ls.line(at).key, at, 0
}

// Stay keeps the selection where it is, even if the pod is there now.
func (s *State) Stay() { s.unfollow() }

func (s *State) unfollow() {
	if s.follow {
		s.follow, s.leftAt = false, s.podAt(s.pod).Events.End()
	}
}

// Page moves the selection by half pages.
func (s *State) Page(halves int) {
	n := s.sizes.Main
	switch s.focus {
	case screen.PanePods:
		n = s.sizes.Pods
	case screen.PaneDetail:
		n = s.sizes.Detail
	}
	s.Move(halves * max(1, n/2))
}

const veryFar = 1 << 40

// Home goes to the first row.
func (s *State) Home() { s.Move(-veryFar) }

// End goes to the last row. In a story and in the list of events the selection then follows what happens.
func (s *State) End() {
	if s.focus == screen.PaneMain {
		s.mainPane().end(s)
		return
	}
	s.Move(veryFar)
}

// Open opens the selected row, or goes into it: from a pod to its story, from an open row to the first row beneath,
// from a step to its details.
func (s *State) Open() {
	switch s.focus {
	case screen.PanePods:
		s.focus = screen.PaneMain
	case screen.PaneMain:
		s.mainPane().open(s, s.view())
	}
}

func (s *State) openRow(v *view) {
	p := s.podAt(s.pod)
	ls := s.layout(p, v.at)
	at := s.cursorPlace(ls, v)
	if at == none {
		return
	}
	n := *ls.line(at)
	switch {
	case n.opens && (!n.open || n.hidden > 0 && !p.opened[n.key]):
		s.selectLine(ls, at)
		p.setOpen(n.key, true)
		s.version++
	case n.opens && at+1 < ls.len():
		s.selectLine(ls, at+1)
	default:
		s.focus = screen.PaneDetail
	}
}

func (p *pod) setOpen(k lineKey, open bool) {
	if p.opened == nil {
		p.opened = map[lineKey]bool{}
	}
	p.opened[k] = open
	p.cache = layoutCache{}
}

// OpenAll opens all rows of the selected pod's story, including the steps that rows leave out.
func (s *State) OpenAll() {
	p, v := s.podAt(s.pod), s.view()
	for range maxDepth {
		ls := s.layout(p, v.at)
		if ls.len() > maxOpen || !openMore(p, ls) {
			return
		}
		s.version++
	}
}

// maxOpen bounds how many rows of a story one key opens: a long story is opened as far as that.
const maxOpen = 20_000

// openMore opens the rows that are closed, or that leave something out. It returns false if there is none.
func openMore(p *pod, ls *lines) bool {
	var keys []lineKey
	for i := range ls.len() {
		if n := ls.line(i); n.opens && (!n.open || n.hidden > 0) && !p.opened[n.key] {
			keys = append(keys, n.key)
		}
	}
	p.setAll(keys, true)
	return len(keys) > 0
}

// CloseAll closes all rows within the chapters of the selected pod's story. The chapters are as if the reader had not
// touched them.
func (s *State) CloseAll() {
	p, v := s.podAt(s.pod), s.view()
	p.opened, p.cache = nil, layoutCache{}
	s.version++
	ls := s.layout(p, v.at)
	var keys []lineKey
	for i := range ls.len() {
		if n := ls.line(i); n.opens && n.open && n.depth > 0 {
			keys = append(keys, n.key)
		}
	}
	p.setAll(keys, false)
	s.version++
	ls = s.layout(p, v.at)
	if !s.follow && ls.find(s.cursor, s.cursorAt) == none && ls.len() > 0 {
		s.selectLine(ls, s.nearest(ls)) // else its row would be opened again
	}
}

func (p *pod) setAll(keys []lineKey, open bool) {
	for _, k := range keys {
		p.setOpen(k, open)
	}
}

// Back goes one level out: it closes the selected row, or selects the row or pane around it. It returns false if
// there is nothing around.
func (s *State) Back() bool {
	switch {
	case s.focus == screen.PaneDetail:
		s.focus = screen.PaneMain
	case s.focus == screen.PanePods && s.zoom:
		s.zoom = false
	case s.focus == screen.PanePods && s.main != screen.MainStory:
		s.main = screen.MainStory
	case s.focus == screen.PanePods:
		return false
	case !s.mainPane().back(s, s.view()):
		s.focus = screen.PanePods
	}
	return true
}

// closeRow closes the selected row, or selects the row around it.
func (s *State) closeRow(v *view) bool {
	p := s.podAt(s.pod)
	ls := s.layout(p, v.at)
	at := s.cursorPlace(ls, v)
	if at == none {
		return false
	}
	if n := ls.line(at); n.opens && n.open && n.depth > 0 {
		k := n.key
		s.selectLine(ls, at)
		p.setOpen(k, false)
		s.version++
		return true
	}
	up := ls.parent(at)
	if up == none || ls.line(up).depth == 0 {
		return false
	}
	s.selectLine(ls, up)
	return true
}

// NextPane and PrevPane move the keys to another pane.
func (s *State) NextPane() { s.focus = (s.focus + 1) % (screen.PaneDetail + 1) }
func (s *State) PrevPane() { s.focus = (s.focus + screen.PaneDetail) % (screen.PaneDetail + 1) }

// SetFocus gives the keys to a pane.
func (s *State) SetFocus(p screen.Pane) { s.focus = max(screen.PanePods, min(p, screen.PaneDetail)) }

// ToggleZoom shows only the pane that has the keys, or all panes again.
func (s *State) ToggleZoom() { s.zoom = !s.zoom }

// Bounds of the split, so that no pane is lost.
const minSplit, maxSplit, usualSplit = 15, 70, 33

// Resize changes the share of the list of pods in the width, in percent.
func (s *State) Resize(percent int) {
	if s.split == 0 {
		s.split = usualSplit
	}
	s.split = max(minSplit, min(s.split+percent, maxSplit))
}

// ToggleFollow lets the selection go with the current step, or stay.
func (s *State) ToggleFollow() { s.mainPane().toggleFollow(s, s.view()) }

// holdCursor stops following and keeps the selection where that has brought it.
func (s *State) holdCursor() {
	v := s.view()
	ls := s.layout(s.podAt(s.pod), v.at)
	if at := s.cursorPlace(ls, v); at != none {
		s.selectLine(ls, at)
	}
	s.unfollow()
}

// Sideways scrolls the main pane to the right, or to the left if dir is negative.
func (s *State) Sideways(dir int) { s.mainPane().sideways(s, dir) }
