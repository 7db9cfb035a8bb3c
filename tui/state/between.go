package state

import (
	"slices"

	"github.com/podstep/podstep/agent/story/outline"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/tui/screen"
)

// between lays out what happened outside of turns: first the entries that matter, and then, in one row, the routine
// ones.
func (l *layouter) between(g *outline.Segment) {
	routine, first, last := 0, 0, 0
	for i := range g.Entries {
		e := &g.Entries[i]
		if len(g.Tries) == 0 || !l.s.isRoutine(l.p, e, l.at) {
			l.entry(g, e, 1)
			continue
		}
		if routine == 0 {
			first = e.First
		}
		routine += e.N
		last = max(last, e.Last)
	}
	if routine == 0 {
		return
	}
	k := lineKey{kind: keyRoutine, a: g.First}
	open := l.isOpen(k, false)
	l.addLine(line{key: k, kind: screen.RowFolded, depth: 1, span: none, item: first, last: last, times: routine, opens: true, open: open})
	if !open {
		return
	}
	for i := range g.Entries {
		if e := &g.Entries[i]; l.s.isRoutine(l.p, e, l.at) {
			l.entry(g, e, 2)
		}
	}
}

// foldOfQuiet maps a kind of quiet items to the fold that they go into.
var foldOfQuiet = map[outline.Quiet]byte{outline.Report: keyReports, outline.Routine: keyRoutine}

// foldOf returns the kind of the fold that takes an entry of a segment, or 0 if the entry stands by itself.
func (s *State) foldOf(p *pod, g *outline.Segment, e *outline.Entry, at int) byte {
	if !s.byTurns(p, g) {
		if it := p.Items.At(e.Last); it != nil && !e.Failed {
			return foldOfQuiet[it.Quiet]
		}
		return 0
	}
	if s.isRoutine(p, e, at) {
		return keyRoutine
	}
	return 0
}

func (s *State) isRoutine(p *pod, e *outline.Entry, at int) bool {
	if e.Failed || !s.h.Step(e.Step).Means().Routine {
		return false
	}
	if s.h.Role(e.Step) != probes.RoleMerge {
		return true
	}
	// A merge matters if the kubelet found more than a change of the status.
	if it := p.Items.At(e.Last); it != nil {
		if sp := s.h.Span(it.Span); sp != nil && sp.Exit != none && sp.Over(at) {
			op := string(wire.Lookup(s.h.Raw(sp.Exit), "op").Text)
			return op == "" || op == "RECONCILE"
		}
	}
	return true
}

func (l *layouter) addLine(n line) *line {
	n.base = l.base
	l.out = append(l.out, n)
	return &l.out[len(l.out)-1]
}

// isOpen reports whether the rows beneath a line are shown: as the reader has chosen, or else as byItself says.
func (l *layouter) isOpen(k lineKey, byItself bool) bool {
	if open, ok := l.p.opened[k]; ok {
		return open
	}
	return byItself
}

// wanted reports whether the reader has opened a line. Then all rows beneath are shown, not only those that matter
// to most readers.
func (l *layouter) wanted(k lineKey) bool { return l.p.opened[k] }

// fold lays out several turns that tried the same. Unless the reader opens it, it shows the last try.
func (l *layouter) fold(g *outline.Segment) {
	lead := l.p.Turns.At(g.Tries[0])
	if lead == nil {
		return
	}
	k := lineKey{kind: keyFold, a: lead.Item}
	last := g.Tries[len(g.Tries)-1]
	open := l.isOpen(k, l.current)
	l.addLine(line{key: k, kind: screen.RowFolded, depth: 1, span: none, item: lead.Item, last: last, times: len(g.Tries), opens: true, open: open})
	if !open {
		return
	}
	if l.wanted(k) {
		for _, t := range g.Tries[:len(g.Tries)-1] {
			l.turn(t, 2, false)
		}
	}
	l.turn(last, 2, l.current)
}

// entry lays out what happened at one step outside of turns.
func (l *layouter) entry(g *outline.Segment, e *outline.Entry, depth int) {
	if e.N == 1 {
		l.item(e.Last, depth)
		return
	}
	k := entryKey(e)
	open := l.isOpen(k, false)
	l.addLine(line{key: k, kind: screen.RowFolded, depth: depth, span: none, item: e.First, last: e.Last, times: e.N, step: e.Step, opens: true, open: open})
	if open {
		for _, i := range l.members(g, e) {
			l.item(i, depth+1)
		}
	}
}

func entryKey(e *outline.Entry) lineKey {
	b := int(e.Step) * 2
	if e.Failed {
		b++
	}
	return lineKey{kind: keyEntry, a: e.First, b: b}
}

// maxMembers bounds how many calls of one fold are shown: the newest, and the one that the reader asked for.
var maxMembers = 200

func (l *layouter) members(g *outline.Segment, e *outline.Entry) []int {
	var out []int
	for i := min(e.Last, g.Last-1); i >= e.First && len(out) < maxMembers; i-- {
		it := l.p.Items.At(i)
		if it == nil {
			break
		}
		if l.belongs(g, it, e) {
			out = append(out, i)
		}
	}
	if i := l.p.revealed; len(out) == maxMembers && i >= e.First && i < out[len(out)-1] {
		if it := l.p.Items.At(i); it != nil && l.belongs(g, it, e) {
			out = append(out, i)
		}
	}
	slices.Reverse(out)
	return out
}

func (l *layouter) belongs(g *outline.Segment, it *outline.Item, e *outline.Entry) bool {
	if it.Turn != none {
		for _, t := range g.Tries {
			if t == it.Turn {
				return false
			}
		}
		return l.s.h.Role(e.Step) == probes.RoleTurn
	}
	sp := l.s.h.Span(it.Span)
	return sp != nil && sp.Step == e.Step && it.Sub == e.Sub && l.s.outlines.ItemFailed(it, l.at) == e.Failed && it.Pos < l.at
}
