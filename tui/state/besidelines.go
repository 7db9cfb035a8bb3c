package state

import "slices"

// beside lays out a chapter as it is seen from beside the kubelet: calls and
// reports in the order in which they happened. What happened again stands where
// it happened last; what nobody misses is folded at the end. In front of the
// first call stands what lies between it and what was heard before, which this
// probe does not see.
func (l *layouter) beside(g *segment) {
	entries := slices.Clone(g.entries)
	slices.SortStableFunc(entries, func(a, b entry) int { return a.last - b.last })
	unseen := l.p != l.s.pods[0] && l.chapter != running
	for i := range entries {
		e := &entries[i]
		if l.s.foldOf(l.p, e, l.at) != 0 {
			continue
		}
		if unseen && l.s.steps.at(e.step).stage == "cri" {
			unseen = false
			l.unseen(g)
		}
		l.entry(g, e, 1)
	}
	if unseen && l.latest && l.chapter == creation && !l.now.ready && !l.now.ended && !l.now.removed {
		l.unseen(g)
	}
	l.quiet(g, entries, keyReports)
	l.quiet(g, entries, keyRoutine)
	if l.latest {
		l.toCome(l.chapter)
	}
}

// quiet lays out the entries of a chapter that go into one fold.
func (l *layouter) quiet(g *segment, entries []entry, kind byte) {
	times, first, last := 0, none, none
	for i := range entries {
		if e := &entries[i]; l.s.foldOf(l.p, e, l.at) == kind {
			times += e.n
			last = max(last, e.last)
			if first == none || e.first < first {
				first = e.first
			}
		}
	}
	if times == 0 {
		return
	}
	k := lineKey{kind: kind, a: g.first}
	open := l.isOpen(k, false)
	l.add(line{key: k, kind: RowFolded, depth: 1, span: none, item: first, last: last, times: times, opens: true, open: open})
	if !open {
		return
	}
	for i := range entries {
		if e := &entries[i]; l.s.foldOf(l.p, e, l.at) == kind {
			l.entry(g, e, 2)
		}
	}
}

// latestPlace is the row of the call that a pod is in, or else of what happened
// last, folds of quiet things left out.
func (s *State) latestPlace(ls *lines, want int) int {
	p, last := s.pods[s.pod], none
	for i := ls.len() - 1; i >= max(0, ls.len()-currentRows); i-- {
		n := ls.at(i)
		switch n.key.kind {
		case keySpan, keyEntry:
			ref := n.span
			if it := p.items.at(n.last); n.key.kind == keyEntry && it != nil {
				ref = it.span
			}
			if want != none && ref == want {
				return i
			}
			if last == none && s.isLoud(ref) {
				last = i
			}
		case keyChapter:
			if last == none && want == none {
				last = i
			}
		}
	}
	return max(last, 0)
}

// isLoud tells whether a call stands by itself in a story.
func (s *State) isLoud(ref int) bool {
	sp := s.spans.at(ref)
	if sp == nil {
		return false
	}
	it := s.pods[sp.pod].items.at(sp.item)
	return it != nil && it.quiet == 0
}
