package state

// between lays out what happened besides turns: first what matters, then, in one
// row, what is routine.
func (l *layouter) between(g *segment) {
	routine, first, last := 0, 0, 0
	for i := range g.entries {
		e := &g.entries[i]
		if len(g.tries) == 0 || !l.s.isRoutine(l.p, e, l.at) {
			l.entry(g, e, 1)
			continue
		}
		if routine == 0 {
			first = e.first
		}
		routine += e.n
		last = max(last, e.last)
	}
	if routine == 0 {
		return
	}
	k := lineKey{kind: keyRoutine, a: g.first}
	open := l.isOpen(k, false)
	l.add(line{key: k, kind: RowFolded, depth: 1, span: none, item: first, last: last, times: routine, opens: true, open: open})
	if !open {
		return
	}
	for i := range g.entries {
		if e := &g.entries[i]; l.s.isRoutine(l.p, e, l.at) {
			l.entry(g, e, 2)
		}
	}
}

// routine are steps that happen around every turn of every pod: told one by one
// they would hide what matters.
var routine = map[stepName]bool{
	stepAPISend: true, stepFileSend: true, stepMerge: true, "loop.reconcile": true, "loop.sync": true,
	"vol.process": true, "vol.op": true, "vol.mountattached": true, "vol.mount": true, "vol.unmount": true,
	"vol.verifyattach": true, "vol.waitattach": true, "cri.ContainerStatus": true, stepCanDelete: true,
	"pleg.cache": true, "worker.forget": true, "gc.sandbox": true, "loop.update": true, stepRemoveContainer: true,
}

// foldOf is the kind of the fold that an entry goes into by itself, or 0.
func (s *State) foldOf(p *pod, e *entry, at int) byte {
	if s.epoch.beside {
		if it := p.items.at(e.last); it != nil && !e.failed {
			return it.quiet
		}
		return 0
	}
	if s.isRoutine(p, e, at) {
		return keyRoutine
	}
	return 0
}

func (s *State) isRoutine(p *pod, e *entry, at int) bool {
	if e.failed || !routine[stepName(s.steps.at(e.step).name)] {
		return false
	}
	if !s.steps.is(e.step, stepMerge) {
		return true
	}
	// A merge matters when it says more than that the status differs.
	if it := p.items.at(e.last); it != nil {
		if sp := s.spans.at(it.span); sp != nil && sp.exit != none && sp.over(at) {
			op := string(lookup(s.arena.at(sp.exit), "op").text)
			return op == "" || op == "RECONCILE"
		}
	}
	return true
}

func (l *layouter) add(n line) *line {
	n.base = l.base
	l.out = append(l.out, n)
	return &l.out[len(l.out)-1]
}

// isOpen tells whether what is beneath a line is shown: as the reader wants it,
// or as it is by itself.
func (l *layouter) isOpen(k lineKey, byItself bool) bool {
	if open, ok := l.p.opened[k]; ok {
		return open
	}
	return byItself
}

// wanted tells whether the reader has opened a line. Then all that is beneath
// is shown, not only what matters to most.
func (l *layouter) wanted(k lineKey) bool { return l.p.opened[k] }

// fold is several turns that tried the same: by itself it shows the last try.
func (l *layouter) fold(g *segment) {
	lead := l.p.turns.at(g.tries[0])
	if lead == nil {
		return
	}
	k := lineKey{kind: keyFold, a: lead.item}
	last := g.tries[len(g.tries)-1]
	open := l.isOpen(k, l.current)
	l.add(line{key: k, kind: RowFolded, depth: 1, span: none, item: lead.item, last: last, times: len(g.tries), opens: true, open: open})
	if !open {
		return
	}
	if l.wanted(k) {
		for _, t := range g.tries[:len(g.tries)-1] {
			l.turn(t, 2, false)
		}
	}
	l.turn(last, 2, l.current)
}

// entry is what happened in between, by step.
func (l *layouter) entry(g *segment, e *entry, depth int) {
	if e.n == 1 {
		l.item(e.last, depth)
		return
	}
	k := e.key()
	open := l.isOpen(k, false)
	l.add(line{key: k, kind: RowFolded, depth: depth, span: none, item: e.first, last: e.last, times: e.n, step: e.step, opens: true, open: open})
	if open {
		for _, i := range l.members(g, e) {
			l.item(i, depth+1)
		}
	}
}

func (e *entry) key() lineKey {
	b := int(e.step) * 2
	if e.failed {
		b++
	}
	return lineKey{kind: keyEntry, a: e.first, b: b}
}

// maxMembers bounds how many calls of one fold are shown, the newest.
const maxMembers = 200

func (l *layouter) members(g *segment, e *entry) []int {
	var out []int
	for i := min(e.last, g.last-1); i >= e.first && len(out) < maxMembers; i-- {
		it := l.p.items.at(i)
		if it == nil {
			break
		}
		if l.belongs(g, it, e) {
			out = append(out, i)
		}
	}
	for i, j := 0, len(out)-1; i < j; i, j = i+1, j-1 {
		out[i], out[j] = out[j], out[i]
	}
	return out
}

func (l *layouter) belongs(g *segment, it *item, e *entry) bool {
	if it.turn != none {
		for _, t := range g.tries {
			if t == it.turn {
				return false
			}
		}
		return l.s.steps.is(e.step, stepTurn)
	}
	sp := l.s.spans.at(it.span)
	return sp != nil && sp.step == e.step && it.sub == e.sub && l.s.itemFailed(it, l.at) == e.failed && it.pos < l.at
}
