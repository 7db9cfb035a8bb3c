package state

// maxDepth bounds the nesting that is shown.
const maxDepth = 24

// tree has the calls of one item, nested.
type tree struct {
	l     *layouter
	item  int
	nodes []node
	byOrd map[int]int // places in nodes by the span's place in the pod's list
	roots []int
}

type node struct {
	span     int
	children []int
	notes    []int // positions of holds and faults
	loud     bool  // itself or something in it goes on, failed, or is held
	inner    bool  // something in it failed
}

// maxCalls bounds the calls of one item that are laid out, the newest.
const maxCalls = 3000

// collect finds the calls of an item that had begun at the layout's position.
func (l *layouter) collect(it *item, ord int) *tree {
	t := &tree{l: l, item: ord, byOrd: map[int]int{}}
	for i := max(it.first, l.p.spans.first, it.last-maxCalls); i < it.last; i++ {
		ref := l.p.spans.at(i)
		if ref == nil {
			break
		}
		sp := l.s.spans.at(*ref)
		if sp == nil || sp.item != ord || sp.enter >= l.at {
			continue
		}
		t.byOrd[i] = len(t.nodes)
		t.nodes = append(t.nodes, node{span: *ref})
		n := len(t.nodes) - 1
		if up, ok := t.up(sp); ok {
			t.nodes[up].children = append(t.nodes[up].children, n)
		} else {
			t.roots = append(t.roots, n)
		}
	}
	t.addNotes()
	for i := len(t.nodes) - 1; i >= 0; i-- {
		n := &t.nodes[i]
		sp := l.s.spans.at(n.span)
		n.loud = n.loud || !sp.over(l.at) || sp.failed || n.span == l.now.held || len(n.notes) > 0
		if up, ok := t.up(sp); ok {
			t.nodes[up].loud = t.nodes[up].loud || n.loud
			t.nodes[up].inner = t.nodes[up].inner || n.inner || sp.failed && sp.over(l.at)
		}
	}
	return t
}

func (t *tree) up(sp *span) (int, bool) {
	up := t.l.s.spans.at(sp.parent)
	if up == nil {
		return 0, false
	}
	n, ok := t.byOrd[up.ordinal]
	return n, ok
}

// addNotes puts holds, releases and faults where they happened.
func (t *tree) addNotes() {
	if len(t.nodes) == 0 {
		return
	}
	notes := &t.l.p.notes
	from := t.l.s.spans.at(t.nodes[0].span).enter
	lo, hi := 0, len(notes.all)
	for lo < hi {
		if mid := (lo + hi) / 2; notes.all[mid].pos < from {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	for _, n := range notes.all[lo:] {
		sp := t.l.s.spans.at(n.span)
		if n.pos >= t.l.at || sp != nil && sp.item > t.item {
			break
		}
		if sp != nil && sp.item == t.item {
			if i, ok := t.byOrd[sp.ordinal]; ok {
				t.nodes[i].notes = append(t.nodes[i].notes, n.pos)
			}
		}
	}
}

// tree lays out a call that was made in no other.
func (l *layouter) tree(it *item, ord, depth int) {
	t := l.collect(it, ord)
	for _, r := range t.roots {
		t.call(r, depth, RowStage)
	}
}

// call lays out a call and what happened in it.
func (t *tree) call(n, depth int, kind RowKind) {
	l, nd := t.l, &t.nodes[n]
	sp := l.s.spans.at(nd.span)
	k := lineKey{kind: keySpan, a: nd.span}
	open := l.isOpen(k, t.opensItself(nd, sp)) && depth < maxDepth
	at := len(l.out)
	l.add(line{key: k, kind: kind, depth: depth, span: nd.span, item: t.item, opens: len(nd.children) > 0, open: open && len(nd.children) > 0})
	t.said(nd, depth+1)
	if !open {
		return
	}
	hidden := 0
	for _, c := range nd.children {
		hidden += t.child(c, depth+1, l.wanted(k))
	}
	l.out[at].hidden = hidden
	l.out[at].inner = nd.inner
	if !sp.over(l.at) {
		l.expected(sp, t.seen(nd), depth+1)
	}
}

// said lays out what happened at a call that is no call: holds, faults. While a
// pod is held, its row says so itself.
func (t *tree) said(nd *node, depth int) {
	for i, pos := range nd.notes {
		if i < len(nd.notes)-1 && t.l.s.isHold(pos) || pos == t.l.now.heldAt {
			continue // its release tells all
		}
		t.l.add(line{key: lineKey{kind: keyNote, a: pos}, kind: RowNote, depth: depth, span: nd.span, item: t.item})
	}
}

// child lays out a call within another: as a row, or, if it is one for a closer
// look, only what happened in it. It returns how many it left out.
func (t *tree) child(n, depth int, all bool) (hidden int) {
	nd := &t.nodes[n]
	sp := t.l.s.spans.at(nd.span)
	if all || t.shows(nd, sp) {
		t.call(n, depth, RowStep)
		return 0
	}
	hidden = 1
	t.said(nd, depth)
	for _, c := range nd.children {
		hidden += t.child(c, depth, false)
	}
	if !sp.over(t.l.at) {
		t.l.expected(sp, t.seen(nd), depth)
	}
	return hidden
}

// shows tells whether a call is worth a row by itself: its step belongs to
// every pod's story, or it is where things are, or went wrong.
func (t *tree) shows(nd *node, sp *span) bool {
	st := t.l.s.steps.at(sp.step)
	if t.l.now.at == nd.span || t.l.now.held == nd.span || len(nd.notes) > 0 || sp.failed && sp.over(t.l.at) && len(nd.children) == 0 {
		return true
	}
	if _, touched := t.l.p.opened[lineKey{kind: keySpan, a: nd.span}]; touched {
		return true
	}
	return st.tier() == 1 && !t.l.s.steps.is(sp.step, stepStartContainer)
}

// opensItself: what goes on, what failed inside, and the few calls that are no
// more than their parts.
func (t *tree) opensItself(nd *node, sp *span) bool {
	if nd.loud && t.l.current {
		return true
	}
	switch st := t.l.s.steps; {
	case st.is(sp.step, stepRtSync), st.is(sp.step, stepAdd), st.is(sp.step, stepKillPod), st.is(sp.step, "term.killpod"):
		return true
	}
	return nd.inner
}

// seen lists the steps of the calls that a call has made so far, calls of
// quieter ones included.
func (t *tree) seen(nd *node) []stepID {
	var out []stepID
	for _, c := range nd.children {
		out = append(out, t.l.s.spans.at(t.nodes[c].span).step)
	}
	return out
}

// turn lays out a turn of the worker. The turn and what it is for, such as
// SyncPod, share a row.
func (l *layouter) turn(i, depth int, openItself bool) {
	tn := l.p.turns.at(i)
	if tn == nil {
		return
	}
	it := l.p.items.at(tn.item)
	if it == nil || it.pos >= l.at {
		return
	}
	t := l.collect(it, tn.item)
	k := lineKey{kind: keyTurn, a: tn.item}
	open := l.isOpen(k, openItself)
	at := len(l.out)
	l.add(line{key: k, kind: RowSync, depth: depth, span: l.spanOfTurn(tn, it), item: tn.item, opens: true, open: open})
	if !open {
		return
	}
	hidden, inner := 0, false
	all := l.wanted(k)
	for _, r := range t.roots {
		nd := &t.nodes[r]
		if nd.span != tn.span {
			hidden += t.child(r, depth+1, all)
			continue
		}
		t.said(nd, depth+1)
		hidden += t.inTurn(nd, tn, depth+1, all)
		inner = inner || nd.inner
	}
	if !tn.ended || tn.done == none || tn.done >= l.at {
		l.expectedAfter(tn, t, depth+1)
	}
	l.out[at].hidden, l.out[at].inner = hidden, inner
}

// inTurn lays out the calls of a turn, and in their midst those of its work.
func (t *tree) inTurn(nd *node, tn *turn, depth int, all bool) (hidden int) {
	for _, c := range nd.children {
		work := &t.nodes[c]
		if work.span != tn.work {
			hidden += t.child(c, depth, all)
			continue
		}
		t.said(work, depth)
		for _, w := range work.children {
			hidden += t.child(w, depth, all)
		}
		if sp := t.l.s.spans.at(work.span); !sp.over(t.l.at) {
			t.l.expected(sp, t.seen(work), depth)
		}
	}
	if sp := t.l.s.spans.at(nd.span); !sp.over(t.l.at) {
		t.l.expected(sp, t.seen(nd), depth)
	}
	return hidden
}

// spanOfTurn is the call that a turn's row stands for: where the turn is, or
// else its work.
func (l *layouter) spanOfTurn(tn *turn, it *item) int {
	if l.now.held != none && (l.now.held == tn.span || l.now.held == tn.work) {
		return l.now.held
	}
	if sp := l.s.spans.at(tn.work); sp != nil && sp.enter < l.at {
		return tn.work
	}
	if sp := l.s.spans.at(tn.span); sp != nil && sp.enter < l.at {
		return tn.span
	}
	return it.span
}
