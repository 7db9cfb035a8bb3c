package state

import (
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/outline"
	"github.com/podstep/podstep/tui/screen"
)

// maxDepth bounds how deep rows are nested.
const maxDepth = 24

// tree has the calls of one item, nested.
type tree struct {
	l     *layouter
	item  int
	nodes []node
	byOrd map[int]int // indexes in nodes, by the span's place in the pod's list
	roots []int
}

type node struct {
	span     int
	children []int
	notes    []int // positions of holds and faults
	loud     bool  // itself or something in it goes on, failed, or is held
	inner    bool  // something in it failed
}

// maxCalls bounds how many calls of one item are laid out, the newest.
const maxCalls = 3000

// collect finds the calls of an item that had begun at the layout's position.
func (l *layouter) collect(it *outline.Item, ord int) *tree {
	t := &tree{l: l, item: ord, byOrd: map[int]int{}}
	for i := max(it.First, l.p.Spans.First, it.Last-maxCalls); i < it.Last; i++ {
		ref := l.p.Spans.At(i)
		if ref == nil {
			break
		}
		sp := l.s.h.Span(*ref)
		if sp == nil || sp.Item != ord || sp.Enter >= l.at {
			continue
		}
		t.byOrd[i] = len(t.nodes)
		t.nodes = append(t.nodes, node{span: *ref})
		n := len(t.nodes) - 1
		if up, ok := t.caller(sp); ok {
			t.nodes[up].children = append(t.nodes[up].children, n)
		} else {
			t.roots = append(t.roots, n)
		}
	}
	t.addNotes()
	for i := len(t.nodes) - 1; i >= 0; i-- {
		n := &t.nodes[i]
		sp := l.s.h.Span(n.span)
		n.loud = n.loud || !sp.Over(l.at) || sp.Failed || n.span == l.now.Held || len(n.notes) > 0
		if up, ok := t.caller(sp); ok {
			t.nodes[up].loud = t.nodes[up].loud || n.loud
			t.nodes[up].inner = t.nodes[up].inner || n.inner || sp.Failed && sp.Over(l.at)
		}
	}
	return t
}

func (t *tree) caller(sp *history.Span) (int, bool) {
	up := t.l.s.h.Span(sp.Parent)
	if up == nil {
		return 0, false
	}
	n, ok := t.byOrd[up.Ordinal]
	return n, ok
}

// addNotes puts holds, releases and faults where they happened.
func (t *tree) addNotes() {
	if len(t.nodes) == 0 {
		return
	}
	notes := &t.l.p.Notes
	from := t.l.s.h.Span(t.nodes[0].span).Enter
	lo, hi := 0, len(notes.All)
	for lo < hi {
		if mid := (lo + hi) / 2; notes.All[mid].Pos < from {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	for _, n := range notes.All[lo:] {
		sp := t.l.s.h.Span(n.Span)
		if n.Pos >= t.l.at || sp != nil && sp.Item > t.item {
			break
		}
		if sp != nil && sp.Item == t.item {
			if i, ok := t.byOrd[sp.Ordinal]; ok {
				t.nodes[i].notes = append(t.nodes[i].notes, n.Pos)
			}
		}
	}
}

// tree lays out the calls of an item that were made in no other call, each with the calls in it.
func (l *layouter) tree(it *outline.Item, ord, depth int) {
	t := l.collect(it, ord)
	for _, r := range t.roots {
		t.call(r, depth, screen.RowStage)
	}
}

// call lays out a call and what happened in it.
func (t *tree) call(n, depth int, kind screen.RowKind) {
	l, nd := t.l, &t.nodes[n]
	sp := l.s.h.Span(nd.span)
	k := lineKey{kind: keySpan, a: nd.span}
	open := l.isOpen(k, t.opensItself(nd, sp)) && depth < maxDepth
	at := len(l.out)
	l.addLine(line{key: k, kind: kind, depth: depth, span: nd.span, item: t.item, opens: len(nd.children) > 0, open: open && len(nd.children) > 0})
	t.notes(nd, depth+1)
	if !open {
		return
	}
	hidden := 0
	for _, c := range nd.children {
		hidden += t.child(c, depth+1, l.wanted(k))
	}
	l.out[at].hidden = hidden
	l.out[at].inner = nd.inner
	if !sp.Over(l.at) {
		l.expected(sp, t.seen(nd), depth+1)
	}
}

// notes lays out the holds and faults at a call. While a pod is held, the call's own row shows the hold.
func (t *tree) notes(nd *node, depth int) {
	for i, pos := range nd.notes {
		if i < len(nd.notes)-1 && t.l.s.isHold(pos) || pos == t.l.now.HeldAt {
			continue // the release, which follows, says all that the hold says
		}
		t.l.addLine(line{key: lineKey{kind: keyNote, a: pos}, kind: screen.RowNote, depth: depth, span: nd.span, item: t.item})
	}
}

// child lays out a call within another: as a row, or, if the call is only for a closer look, just the calls in it.
// It returns how many calls it left out.
func (t *tree) child(n, depth int, all bool) (hidden int) {
	nd := &t.nodes[n]
	sp := t.l.s.h.Span(nd.span)
	if all || t.shows(nd, sp) {
		t.call(n, depth, screen.RowStep)
		return 0
	}
	hidden = 1
	t.notes(nd, depth)
	for _, c := range nd.children {
		hidden += t.child(c, depth, false)
	}
	if !sp.Over(t.l.at) {
		t.l.expected(sp, t.seen(nd), depth)
	}
	return hidden
}

// shows reports whether a call deserves a row of its own: its step belongs to every pod's story, the pod is there,
// or the call went wrong.
func (t *tree) shows(nd *node, sp *history.Span) bool {
	st := t.l.s.h.Step(sp.Step)
	if t.l.now.At == nd.span || t.l.now.Held == nd.span || len(nd.notes) > 0 || sp.Failed && sp.Over(t.l.at) && len(nd.children) == 0 {
		return true
	}
	if _, touched := t.l.p.opened[lineKey{kind: keySpan, a: nd.span}]; touched {
		return true
	}
	return st.Tier() == 1 && !st.Means().Joins
}

// opensItself reports whether a row is open unless the reader closes it: rows of calls that go on or failed inside,
// and of the few calls that are no more than their parts.
func (t *tree) opensItself(nd *node, sp *history.Span) bool {
	if nd.loud && t.l.current {
		return true
	}
	return nd.inner || t.l.s.h.Step(sp.Step).Means().Opens
}

// seen returns the steps of the calls that a call has made so far, including those within quieter calls.
func (t *tree) seen(nd *node) []history.StepID {
	var out []history.StepID
	for _, c := range nd.children {
		out = append(out, t.l.s.h.Span(t.nodes[c].span).Step)
	}
	return out
}

// turn lays out a turn of the worker. The turn shares a row with its work, such as SyncPod.
func (l *layouter) turn(i, depth int, openItself bool) {
	tn := l.p.Turns.At(i)
	if tn == nil {
		return
	}
	it := l.p.Items.At(tn.Item)
	if it == nil || it.Pos >= l.at {
		return
	}
	t := l.collect(it, tn.Item)
	k := lineKey{kind: keyTurn, a: tn.Item}
	open := l.isOpen(k, openItself)
	at := len(l.out)
	l.addLine(line{key: k, kind: screen.RowSync, depth: depth, span: l.spanOfTurn(tn, it), item: tn.Item, opens: true, open: open})
	if !open {
		return
	}
	hidden, inner := 0, false
	all := l.wanted(k)
	for _, r := range t.roots {
		nd := &t.nodes[r]
		if nd.span != tn.Span {
			hidden += t.child(r, depth+1, all)
			continue
		}
		t.notes(nd, depth+1)
		hidden += t.inTurn(nd, tn, depth+1, all)
		inner = inner || nd.inner
	}
	if !tn.Ended || tn.Done == none || tn.Done >= l.at {
		l.expectedAfter(tn, t, depth+1)
	}
	l.out[at].hidden, l.out[at].inner = hidden, inner
}

// inTurn lays out the calls of a turn, and among them those of its work.
func (t *tree) inTurn(nd *node, tn *outline.Turn, depth int, all bool) (hidden int) {
	for _, c := range nd.children {
		work := &t.nodes[c]
		if work.span != tn.Work {
			hidden += t.child(c, depth, all)
			continue
		}
		t.notes(work, depth)
		for _, w := range work.children {
			hidden += t.child(w, depth, all)
		}
		if sp := t.l.s.h.Span(work.span); !sp.Over(t.l.at) {
			t.l.expected(sp, t.seen(work), depth)
		}
	}
	if sp := t.l.s.h.Span(nd.span); !sp.Over(t.l.at) {
		t.l.expected(sp, t.seen(nd), depth)
	}
	return hidden
}

// spanOfTurn returns the call that a turn's row stands for: the one at which the pod is held, or else the turn's
// work.
func (l *layouter) spanOfTurn(tn *outline.Turn, it *outline.Item) int {
	if l.now.Held != none && (l.now.Held == tn.Span || l.now.Held == tn.Work) {
		return l.now.Held
	}
	if sp := l.s.h.Span(tn.Work); sp != nil && sp.Enter < l.at {
		return tn.Work
	}
	if sp := l.s.h.Span(tn.Span); sp != nil && sp.Enter < l.at {
		return tn.Span
	}
	return it.Span
}
