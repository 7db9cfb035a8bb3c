package history

import (
	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"google.golang.org/protobuf/proto"
)

// Record is an event with what the history knows about it. It is valid until the next event is added.
type Record struct {
	Pos    int
	Header *wire.Header
	Raw    []byte // the event as it came; a part of the history's memory
	Time   int64  // session time
	Step   StepID
	Span   int // reference; None: the event is about no call
	Pod    int // place
	Epoch  *Epoch
	Knows  probes.Knows // what the probes knew of a story when the event came
}

// Field looks up a field of the event by its name.
func (r *Record) Field(name string) wire.Value { return wire.Lookup(r.Raw, name) }

// Add takes the next batch of events of the present agent and calls each for every new event. It then forgets the
// events beyond the limit: see First.
func (h *History) Add(b *agentpb.Batch, each func(*Record)) {
	if b == nil {
		return
	}
	h.epoch.AddPods(b.Pods)
	for _, p := range b.Pods {
		h.Learn(p)
	}
	for _, raw := range b.Events {
		h.add(raw, each)
	}
	h.forgetOld()
}

// AddEvent is Add for one event, whose pod is known. The history copies the event.
func (h *History) AddEvent(raw []byte, each func(*Record)) {
	h.add(raw, each)
	h.forgetOld()
}

func (h *History) forgetOld() {
	for h.arena.bytes > h.limit && len(h.arena.chunks) > 1 {
		for _, do := range h.forgetting {
			do(h.arena.first + chunkEvents)
		}
		h.keepOld(h.arena.first + chunkEvents)
		h.arena.forget()
		h.forget(h.arena.first)
	}
}

func (h *History) add(raw []byte, each func(*Record)) {
	e := h.epoch
	read, err := wire.ReadHeader(raw)
	if err != nil {
		// An event that cannot be read is kept as a loss, so that people see that.
		read, raw = e.lostEvent()
	}
	head, r := &h.head, &h.record // reused, so that an event costs no allocation
	*head = read
	e.wall, e.mono = head.Time, head.Mono
	if head.Seq != 0 && head.Seq <= e.skip {
		return
	}
	e.seq = max(e.seq, head.Seq)
	h.setShift(e, head)
	if len(e.due) > 0 {
		e.settle(head.Time, h.arena.end)
	}
	*r = Record{
		Pos: h.arena.end, Header: head, Raw: raw, Time: head.Mono + e.shift, Span: None,
		Step: e.StepOf(head.Step), Pod: e.PodOf(head.Pod), Epoch: e,
		Knows: e.states[len(e.states)-1].knows,
	}
	h.arena.add(raw)
	h.last = max(h.last, r.Time)
	p := h.pods[r.Pod]
	p.Events.Add(r.Pos)
	h.track(p, r)
	if each != nil {
		each(r)
	}
}

// Record returns the event at a position once more; ok is false if it is not kept.
func (h *History) Record(pos int, head *wire.Header) (r Record, ok bool) {
	raw := h.arena.at(pos)
	if raw == nil {
		return r, false
	}
	*head, _ = wire.ReadHeader(raw)
	e := h.EpochAt(pos)
	return Record{
		Pos: pos, Header: head, Raw: raw, Time: head.Mono + e.shift, Step: e.StepOf(head.Step), Pod: e.PodOf(head.Pod),
		Span: h.spans.find(e.spanID(head.Span)), Epoch: e, Knows: e.statesAt(pos).knows,
	}, true
}

// lostEvent makes an event which tells that one event could not be read, with the time of the event before it.
func (e *Epoch) lostEvent() (wire.Header, []byte) {
	head := wire.Header{Kind: agentpb.Kind_DROP, Time: e.wall, Mono: e.mono}
	raw, err := proto.Marshal(&agentpb.Event{Kind: head.Kind, Time: head.Time, Mono: head.Mono})
	if err != nil {
		panic(err) // numbers always marshal
	}
	return head, raw
}

// setShift makes the times of an epoch go on where the epoch before ended: all count from the moment at which the
// first agent began.
func (h *History) setShift(e *Epoch, head *wire.Header) {
	if e.timed || head.Time == 0 {
		return
	}
	e.timed = true
	if h.origin == 0 {
		h.origin = head.Time - head.Mono
	}
	e.shift = head.Time - head.Mono - h.origin
}

// track begins or ends the span that the event is about.
func (h *History) track(p *Pod, r *Record) {
	if r.Header.Span == 0 {
		if r.Header.ReportsState() {
			r.Epoch.noteState(r)
		}
		return
	}
	r.Span = h.spans.find(r.Epoch.spanID(r.Header.Span))
	h.trackHold(r)
	switch r.Header.Kind {
	case agentpb.Kind_ENTER:
		if r.Span == None {
			h.addSpan(p, r)
		}
	case agentpb.Kind_EXIT:
		if r.Span == None {
			h.addSpan(p, r)
			sp := h.spans.at(r.Span)
			sp.Shape, sp.Start = NoEnter, r.Time-max(0, r.Header.Duration)
		}
		if sp := h.spans.at(r.Span); sp != nil && sp.Exit == None {
			sp.Exit, sp.End, sp.Failed = r.Pos, max(r.Time, sp.Start), r.Header.HasError
			if r.Field(probes.FieldEndUnseen).Flag() {
				sp.Shape = NoExit
			}
		}
	case agentpb.Kind_NOTE:
		if r.Sight() {
			h.addSight(r)
		} else if string(r.Field("note").Text) == agentpb.NoteSnapshot {
			p.Stacks.Add(r.Pos)
		}
	}
}

func (h *History) addSpan(p *Pod, r *Record) {
	sp := Span{
		ID: r.Epoch.spanID(r.Header.Span), Start: r.Time, Enter: r.Pos, Exit: None, Parent: h.spans.find(r.Epoch.spanID(r.Header.Parent)),
		Item: None, Sync: r.Header.Sync, Line: r.Header.CallerLine, Goroutine: uint8(min(r.Header.Goroutine, 255)), Step: r.Step, Pod: r.Pod,
	}
	if up := h.spans.at(sp.Parent); up != nil {
		if up.Pod != r.Pod {
			sp.Parent = None
		} else {
			sp.Worker = up.Worker || h.Role(up.Step) == probes.RoleWorker
		}
	}
	r.Span = h.spans.add(sp)
	h.spans.at(r.Span).Ordinal = p.Spans.Add(r.Span)
	if h.calls > 0 && len(p.Spans.All) > 2*h.calls {
		p.Spans.Forget(p.Spans.End() - h.calls)
	}
}

// forget drops everything that belongs to events before a position.
func (h *History) forget(before int) {
	h.spans.forget(before)
	h.forgetSights()
	h.forgetHolds()
	for _, e := range h.epochs {
		e.forgetStates(before)
	}
	for _, p := range h.pods {
		p.Events.ForgetWhile(func(pos *int) bool { return *pos < before })
		p.Stacks.ForgetWhile(func(pos *int) bool { return *pos < before })
		p.Spans.ForgetWhile(func(ref *int) bool { return h.spans.at(*ref) == nil })
	}
}
