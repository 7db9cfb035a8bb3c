package outline

import (
	"hash/maphash"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
)

// Outlines has the outlines of all pods of a history.
type Outlines struct {
	h     *history.History
	lives *life.Lives
	pods  []*Pod
	turn  history.StepID // the step that is a turn
	// Learnt, if not nil, is called with each turn that has gone well, to learn what such turns do.
	Learnt func(p *Pod, t *Turn)
}

// New makes the outlines of a history that has no events yet.
func New(h *history.History, lives *life.Lives) *Outlines {
	o := &Outlines{h: h, lives: lives}
	for _, s := range h.Catalogue().OfRole(probes.RoleTurn) {
		o.turn = h.StepNamed(s.Name)
	}
	return o
}

// Pods returns the number of pods that have an outline: places go from 0.
func (o *Outlines) Pods() int { return o.h.Pods() }

// Pod returns the pod at a place of the history.
func (o *Outlines) Pod(i int) *Pod {
	for len(o.pods) < o.h.Pods() {
		n := len(o.pods)
		o.pods = append(o.pods, &Pod{Pod: o.h.Pod(n), Place: n, Bound: None})
	}
	return o.pods[i]
}

// Take takes the next event of the history, which its lives must have taken already.
func (o *Outlines) Take(r *history.Record) {
	p := o.Pod(r.Pod)
	switch r.Header.Kind {
	case agentpb.Kind_ENTER:
		o.entered(p, r)
	case agentpb.Kind_EXIT:
		if sp := o.h.Span(r.Span); sp != nil && sp.Shape == history.NoEnter && sp.Enter == r.Pos {
			o.entered(p, r)
		}
		o.left(p, r)
		if !r.Knows.Turns {
			o.nameContainer(p, r)
		}
	default:
		if r.Sight() {
			return // one more sight of a call that has its row
		}
		p.Notes.Add(Note{Pos: r.Pos, Kind: r.Header.Kind, Span: r.Span})
		if r.Span == None {
			o.addItem(p, Item{Pos: r.Pos, Span: None, First: p.Spans.End(), Last: p.Spans.End(), Turn: None, Fault: None})
		} else if t := p.TurnOf(o.h.Span(r.Span)); t != nil {
			t.Eventful = true
		}
	}
}

func (o *Outlines) entered(p *Pod, r *history.Record) {
	sp := o.h.Span(r.Span)
	if sp == nil || sp.Item != None {
		return
	}
	if up := o.h.Span(sp.Parent); up != nil && !o.IsLife(up.Step) && o.stays(p, up.Item) {
		sp.Item = up.Item
		p.Items.At(sp.Item).Last = sp.Ordinal + 1
		p.touched(sp.Item)
		o.inTurn(p, sp, r)
		return
	}
	o.newItem(p, sp, r)
}

// IsLife reports whether a goroutine spends its life in a step.
func (o *Outlines) IsLife(id history.StepID) bool {
	role := o.h.Role(id)
	return role == probes.RoleLife || role == probes.RoleWorker
}

// stays reports whether an item may still grow. One that has long ended does not, so that the outline does not change
// where nobody looks any more.
func (o *Outlines) stays(p *Pod, i int) bool {
	it := p.Items.At(i)
	if it == nil {
		return false
	}
	t := p.Turns.At(it.Turn)
	return t == nil || !t.Ended
}

func (o *Outlines) newItem(p *Pod, sp *history.Span, r *history.Record) {
	if !r.Knows.Turns {
		o.newCall(p, sp, r)
		return
	}
	last := p.Turns.Last()
	open := last != nil && !last.Ended
	switch role := o.h.Role(r.Step); {
	case !o.ofWorker(sp):
	case role == probes.RoleBegin, role == probes.RoleTurn && (!open || last.Span != None):
		o.newTurn(p, sp, r)
		return
	case role == probes.RoleTurn || open && endsTurn(role):
		sp.Item = last.Item
		p.Items.At(sp.Item).Last = sp.Ordinal + 1
		o.inTurn(p, sp, r)
		return
	}
	sp.Item = p.Items.End()
	o.addItem(p, Item{Pos: r.Pos, Span: r.Span, First: sp.Ordinal, Last: sp.Ordinal + 1, Turn: None, Fault: None, Sub: o.sub(p, r)})
}

// endsTurn reports whether a call of a role is what the worker does after a turn.
func endsTurn(role probes.Role) bool {
	return role == probes.RoleTransition || role == probes.RoleComplete || role == probes.RoleEnd
}

// ofWorker reports whether a call is made by the worker itself.
func (o *Outlines) ofWorker(sp *history.Span) bool {
	up := o.h.Span(sp.Parent)
	return up == nil || o.h.Role(up.Step) == probes.RoleWorker
}

func (o *Outlines) newTurn(p *Pod, sp *history.Span, r *history.Record) {
	if last := p.Turns.Last(); last != nil {
		last.Ended = true
	}
	sp.Item = p.Items.End()
	p.Turns.Add(Turn{Item: sp.Item, Span: None, Work: None, Done: None})
	o.addItem(p, Item{Pos: r.Pos, Span: r.Span, First: sp.Ordinal, Last: sp.Ordinal + 1, Turn: p.Turns.End() - 1, Fault: None})
	o.inTurn(p, sp, r)
}

func (o *Outlines) addItem(p *Pod, it Item) {
	p.Segments.add(o, p, p.Items.Add(it))
}

// begin notes that a chapter begins with an item. A chapter does not begin twice. If its first call is in a turn, the
// whole turn is in it.
func (o *Outlines) begin(p *Pod, item int, c Chapter, r *history.Record) {
	if n := len(p.Marks); item == None || n > 0 && p.Marks[n-1].Chapter >= c || n == 0 && c == Creation {
		return
	}
	p.Marks = append(p.Marks, Mark{Item: item, Chapter: c, Pos: r.Pos, At: r.Time})
	p.Segments.rebuild(o, p, item)
}

// sub is about for calls outside of turns. It tells only health probes apart: for everything else the number of calls
// is enough.
func (o *Outlines) sub(p *Pod, r *history.Record) uint32 {
	if role := o.h.Role(r.Step); role != probes.RoleProbe && role != probes.RoleProbeTurn {
		return 0
	}
	return o.about(p, r)
}

var seed = maphash.MakeSeed()

func hash(what string, b []byte) uint64 {
	return maphash.String(seed, what) ^ maphash.Bytes(seed, b) | 1
}

// Forget drops everything that belongs to events before a position, which the history has forgotten already.
func (o *Outlines) Forget(before int) {
	for _, p := range o.pods {
		p.forget(before)
	}
}

func (p *Pod) forget(before int) {
	p.Notes.ForgetWhile(func(n *Note) bool { return n.Pos < before })
	n := p.Items.End()
	p.Items.ForgetWhile(func(it *Item) bool { return it.Last <= p.Spans.First && it.Pos < before && n-p.Items.First > 1 })
	p.Turns.ForgetWhile(func(t *Turn) bool { return t.Item < p.Items.First })
	p.Segments.forget(p.Items.First)
	p.Revision++
}
