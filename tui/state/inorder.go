package state

import (
	"slices"

	"github.com/podstep/podstep/agent/story/outline"
	"github.com/podstep/podstep/tui/screen"
)

// inOrder lays out a chapter in which no turns are seen: calls and reports in the order in which they happened.
// Something that happened again stands where it happened last. Quiet entries are folded at the end. Before the first
// call stands a row for the kubelet's own steps since the last report, which no probe here sees.
// sees.
func (l *layouter) inOrder(g *outline.Segment) {
	entries := slices.Clone(g.Entries)
	slices.SortStableFunc(entries, func(a, b outline.Entry) int { return a.Last - b.Last })
	unseen := l.p != l.s.podAt(0) && l.chapter != outline.Running
	for i := range entries {
		e := &entries[i]
		if l.s.foldOf(l.p, g, e, l.at) != 0 {
			continue
		}
		if unseen && l.s.h.Step(e.Step).Stage == "cri" {
			unseen = false
			l.unseen(g)
		}
		l.entry(g, e, 1)
	}
	if unseen && l.latest && l.chapter == outline.Creation && !l.now.Ready && !l.now.Ended && !l.now.Removed {
		l.unseen(g)
	}
	l.quiet(g, entries, keyReports)
	l.quiet(g, entries, keyRoutine)
	if l.latest {
		l.expectedCalls()
	}
}

// quiet lays out the entries of a chapter that go into one fold.
func (l *layouter) quiet(g *outline.Segment, entries []outline.Entry, kind byte) {
	times, first, last := 0, none, none
	for i := range entries {
		if e := &entries[i]; l.s.foldOf(l.p, g, e, l.at) == kind {
			times += e.N
			last = max(last, e.Last)
			if first == none || e.First < first {
				first = e.First
			}
		}
	}
	if times == 0 {
		return
	}
	k := lineKey{kind: kind, a: g.First}
	open := l.isOpen(k, false)
	l.addLine(line{key: k, kind: screen.RowFolded, depth: 1, span: none, item: first, last: last, times: times, opens: true, open: open})
	if !open {
		return
	}
	for i := range entries {
		if e := &entries[i]; l.s.foldOf(l.p, g, e, l.at) == kind {
			l.entry(g, e, 2)
		}
	}
}

// latestPlace returns the row of the call that a pod is in, or else of what happened last, apart from folds of quiet
// entries.
func (s *State) latestPlace(ls *lines, want int) int {
	p, last := s.podAt(s.pod), none
	for i := ls.len() - 1; i >= max(0, ls.len()-currentRows); i-- {
		n := ls.line(i)
		switch n.key.kind {
		case keySpan, keyEntry:
			ref := n.span
			if it := p.Items.At(n.last); n.key.kind == keyEntry && it != nil {
				ref = it.Span
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

// isLoud reports whether a call stands by itself in a story.
func (s *State) isLoud(ref int) bool {
	sp := s.h.Span(ref)
	if sp == nil {
		return false
	}
	it := s.podAt(sp.Pod).Items.At(sp.Item)
	return it != nil && it.Quiet == 0
}
