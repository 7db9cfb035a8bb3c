package state

import (
	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"google.golang.org/protobuf/proto"
)

// maxPods bounds the pods of a session: a foreign stream may name any number.
const maxPods = 100_000

// Add takes the next batch of events.
func (s *State) Add(b *agentpb.Batch) {
	if b == nil {
		return
	}
	e := s.epoch
	e.AddPods(b.Pods)
	for _, p := range b.Pods {
		s.learnPod(e, p)
	}
	for _, raw := range b.Events {
		s.addEvent(e, raw)
	}
	s.version++
	for s.arena.bytes > s.limit && s.arena.forget() {
		s.forget(s.arena.first)
	}
}

// learnPod learns a pod's number. A pod that an earlier agent knew is the same.
func (s *State) learnPod(e *epoch, p *agentpb.Pod) {
	told := probes.Pod{Namespace: Clean(p.Namespace), Name: Clean(p.Name), UID: Clean(p.Uid)}
	i, ok := e.pods[p.Id]
	if !ok {
		if i, ok = s.byUID[told.UID]; !ok || told.UID == "" {
			i = s.newPod(told)
		}
		e.pods[p.Id] = i
	}
	if i > 0 {
		s.pods[i].entity = told
		if told.UID != "" {
			s.byUID[told.UID] = i
		}
	}
}

func (s *State) newPod(p probes.Pod) int {
	if len(s.pods) >= maxPods {
		return 0
	}
	i := len(s.pods)
	s.pods = append(s.pods, &pod{entity: p, place: i, bound: none})
	if p.UID != "" {
		s.byUID[p.UID] = i
	}
	return i
}

func (s *State) addEvent(e *epoch, raw []byte) {
	h, err := wire.ReadHeader(raw)
	if err != nil {
		// What cannot be read is kept as a loss, so that it is seen.
		h, raw = e.lostEvent()
	}
	e.wall, e.mono = h.Time, h.Mono
	if h.Seq != 0 && h.Seq <= e.skip {
		return
	}
	e.seq = max(e.seq, h.Seq)
	s.setShift(e, &h)
	f := fact{
		pos: s.arena.end, h: &h, raw: raw, time: h.Mono + e.shift, span: none,
		step: e.step(h.Step), pod: e.pod(h.Pod),
	}
	s.arena.add(raw)
	p := s.pods[f.pod]
	p.events.add(f.pos)
	s.track(p, &f, e)
	s.apply(&s.now, &f)
	s.tell(p, &f)
	s.keepCheckpoint()
}

// lostEvent is an event that says that one could not be read, with the time of the
// one before.
func (e *epoch) lostEvent() (wire.Header, []byte) {
	h := wire.Header{Kind: agentpb.Kind_DROP, Time: e.wall, Mono: e.mono}
	raw, err := proto.Marshal(&agentpb.Event{Kind: h.Kind, Time: h.Time, Mono: h.Mono})
	if err != nil {
		panic(err) // numbers always marshal
	}
	return h, raw
}

// setShift makes the times of an epoch go on where the one before ended: all
// count from the moment at which the first agent began.
func (s *State) setShift(e *epoch, h *wire.Header) {
	if e.timed || h.Time == 0 {
		return
	}
	e.timed = true
	if s.origin == 0 {
		s.origin = h.Time - h.Mono
	}
	e.shift = h.Time - h.Mono - s.origin
}

// track makes the event's span, or ends it.
func (s *State) track(p *pod, f *fact, e *epoch) {
	if f.h.Span == 0 {
		return
	}
	f.span = s.spans.find(spanID(f.h, e))
	switch f.h.Kind {
	case agentpb.Kind_ENTER:
		if f.span == none {
			s.addSpan(p, f)
		}
	case agentpb.Kind_EXIT:
		if f.span == none {
			s.addSpan(p, f)
			sp := s.spans.at(f.span)
			sp.shape, sp.start = noEnter, f.time-max(0, f.h.Duration)
		}
		if sp := s.spans.at(f.span); sp != nil && sp.exit == none {
			sp.exit, sp.end, sp.failed = f.pos, max(f.time, sp.start), f.h.HasError
		}
	}
}

func (s *State) addSpan(p *pod, f *fact) {
	sp := s.newSpan(f.pos, f.h, f.time)
	sp.step, sp.pod = f.step, f.pod
	if up := s.spans.at(sp.parent); up != nil {
		if up.pod != f.pod {
			sp.parent = none
		} else {
			sp.worker = up.worker || s.steps.role(up.step) == roleWorker
		}
	}
	f.span = s.spans.add(sp)
	s.spans.at(f.span).ordinal = p.spans.add(f.span)
}

// forget drops what belongs to events before a position.
func (s *State) forget(before int) {
	s.spans.forget(before)
	for _, p := range s.pods {
		p.forget(s, before)
	}
	for len(s.checkpoints) > 1 && s.checkpoints[1].at <= before {
		s.checkpoints = s.checkpoints[1:]
	}
	s.events.forget(before)
	if s.frozen() {
		s.frozenAt = max(s.frozenAt, before)
	}
}
