package past

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// merge makes one story of the events of several segments, and of several agents: their numbers of events, calls, pods
// and turns go on where those of the agent before ended, and their times count from the first agent's start.
type merge struct {
	choice *Choice
	begun  bool
	tables *tables
	part   *part
	ref    reference
	shift  shift
	pods   podNumbers

	last    uint64 // the agent's number of its last event that was read, or is known to be in a segment that is not
	live    bool   // the segment's own events have come
	gap     *gap   // before the segment's own events; nil: there is none
	seq     uint64 // of the last event that was given
	mono    int64  // and the latest times
	wall    int64
	spans   uint64                 // the highest number of a call
	open    map[uint64]wire.Header // calls that go on
	holds   map[uint64]wire.Header // and the holds
	syncs   map[uint32]uint32      // each pod's last turn
	syncsAt map[uint32]uint32      // and that before this run
}

// reference says when the agent started whose shift is known.
type reference struct {
	start       int64 // by the wall clock
	boot        string
	clock, mono int64 // by CLOCK_BOOTTIME, and what was added to the agent's times
}

// shift is what is added to an agent's numbers.
type shift struct {
	seq, span uint64
	mono      int64
}

// gap is a time without a record, between two segments of one agent.
type gap struct {
	lost       uint64
	mono, wall int64
	goOn       map[uint64]bool // calls that the agent knew after it
}

// maxOpen bounds the calls whose ends are awaited. An agent has far fewer.
const maxOpen = 1 << 16

func (m *merge) init(c *Choice) {
	m.choice = c
	m.open, m.holds = map[uint64]wire.Header{}, map[uint64]wire.Header{}
	m.syncs = map[uint32]uint32{}
	m.pods = newPodNumbers(c.Pods)
}

// beginRun begins with the segments of another agent.
func (m *merge) beginRun(p *part, t *tables) *agentpb.Batch {
	out := &agentpb.Batch{}
	start := reference{start: p.Began - p.Mono, boot: p.Boot, clock: p.Clock - p.Mono}
	if m.begun {
		m.endOpen(out, nil, m.mono, m.wall)
		m.note(out, m.between(p), m.mono, m.wall)
		start.mono = max(m.mono+1, m.ref.mono+m.ref.until(&start))
		m.shift = shift{m.seq, m.spans, start.mono}
	}
	m.begun, m.tables, m.ref, m.part = true, t, start, p
	m.last, m.live, m.gap = 0, false, nil
	m.pods.beginRun()
	m.syncsAt = map[uint32]uint32{}
	for pod, n := range m.syncs {
		m.syncsAt[pod] = n
	}
	return out
}

// until returns how long after an agent another one started. Within one boot it goes by the clock that nobody sets.
func (r *reference) until(next *reference) int64 {
	if r.boot != "" && r.boot == next.boot {
		return next.clock - r.clock
	}
	return next.start - r.start
}

// between says what there was between the last event and another agent's first segment.
func (m *merge) between(p *part) string {
	from, to := wall(m.wall), wall(p.Began)
	why := "podstep was not running"
	if m.ref.boot != "" && p.Boot != "" && m.ref.boot != p.Boot {
		why = "the node was started again"
	}
	return fmt.Sprintf("nothing was recorded from %s to %s (%s): %s", from.Local().Format(stamp), to.Local().Format(stamp), to.Sub(from).Round(time.Second), why)
}

// beginSegment begins with the next segment of the same agent.
func (m *merge) beginSegment(p *part) {
	m.part, m.live = p, false
	if p.After > m.last && m.last > 0 {
		m.gap = &gap{lost: p.After - m.last, mono: m.mono, wall: m.wall, goOn: map[uint64]bool{}}
	}
}

// skip passes a segment over that has nothing of what is wanted.
func (m *merge) skip(p *part) {
	if m.begun && m.part.Run == p.Run && m.last >= p.After {
		m.last = max(m.last, p.Seq)
	}
}

// endSegment notes that all of a segment was read.
func (m *merge) endSegment() {
	m.last = max(m.last, m.part.After)
}

// add translates a batch of the segment.
func (m *merge) add(b *agentpb.Batch) *agentpb.Batch {
	out := &agentpb.Batch{}
	for _, p := range b.GetPods() {
		if p = m.pods.introduce(p); p != nil {
			out.Pods = append(out.Pods, p)
		}
	}
	for _, raw := range b.GetEvents() {
		h, err := wire.ReadHeader(raw)
		if err != nil {
			continue
		}
		if h.Seq > m.part.After {
			m.addOwn(out, &h, raw)
		} else {
			m.addCarried(out, &h, raw)
		}
	}
	return out
}

// addCarried takes an event from before the segment. Most are known; those that are not fill a gap.
func (m *merge) addCarried(out *agentpb.Batch, h *wire.Header, raw []byte) {
	switch span := h.Span + m.shift.span; {
	case m.gap == nil || h.Span == 0:
	case h.Kind == agentpb.Kind_ENTER:
		m.gap.goOn[span] = true
	case h.Kind == agentpb.Kind_EXIT:
		delete(m.gap.goOn, span)
	}
	if h.Seq > m.last {
		m.give(out, h, raw)
		m.last = h.Seq
	}
}

func (m *merge) addOwn(out *agentpb.Batch, h *wire.Header, raw []byte) {
	if !m.live {
		m.live = true
		m.last = max(m.last, m.part.After)
		if m.gap != nil {
			m.endOpen(out, m.gap.goOn, m.gap.mono, m.gap.wall)
			m.note(out, fmt.Sprintf("%d events were not recorded from %s on, when the record directory could not be written to", m.gap.lost, wall(m.gap.wall).Local().Format(stamp)), m.gap.mono, m.gap.wall)
			m.gap = nil
		}
	}
	m.give(out, h, raw)
	m.last = max(m.last, h.Seq)
}

// give adds an event to what is returned, unless it is of another pod or time.
func (m *merge) give(out *agentpb.Batch, h *wire.Header, raw []byte) {
	pod, wanted := m.pods.of(h.Pod)
	if !wanted {
		return
	}
	was := *h
	m.translate(h, pod)
	m.track(h)
	if !m.choice.includes(h.Time) {
		return
	}
	if sameNumbers(&was, h) {
		out.Events = append(out.Events, raw)
		return
	}
	out.Events = append(out.Events, encode(h, raw))
}

// sameNumbers reports whether an event can be given as it is.
func sameNumbers(a, b *wire.Header) bool {
	return a.Seq == b.Seq && a.Mono == b.Mono && a.Step == b.Step && a.Pod == b.Pod && a.Span == b.Span && a.Parent == b.Parent &&
		a.Sync == b.Sync && a.Goroutine == b.Goroutine && a.Probe == b.Probe
}

// translate changes the numbers of an event from the agent's to those of the recording.
func (m *merge) translate(h *wire.Header, pod uint32) {
	h.Seq += m.shift.seq
	h.Mono += m.shift.mono
	h.Pod = pod
	if h.Span != 0 {
		h.Span += m.shift.span
	}
	if h.Parent != 0 {
		h.Parent += m.shift.span
	}
	if h.Sync != 0 {
		h.Sync += m.syncsAt[pod]
	}
	if h.Step != 0 {
		h.Step = translate(m.tables.steps, h.Step-1) + 1
	}
	if h.Probe != 0 {
		h.Probe = translate(m.tables.probes, h.Probe-1) + 1
	}
	h.Goroutine = translate(m.tables.goroutines, h.Goroutine)
}

// track notes what an event begins and ends.
func (m *merge) track(h *wire.Header) {
	m.seq, m.mono, m.wall, m.spans = max(m.seq, h.Seq), max(m.mono, h.Mono), h.Time, max(m.spans, h.Span)
	m.syncs[h.Pod] = max(m.syncs[h.Pod], h.Sync)
	kept := *h
	kept.ErrorText = nil
	switch h.Kind {
	case agentpb.Kind_ENTER:
		if h.Span != 0 && len(m.open) < maxOpen {
			m.open[h.Span] = kept
		}
	case agentpb.Kind_EXIT:
		delete(m.open, h.Span)
		delete(m.holds, h.Span)
	case agentpb.Kind_HOLD:
		if len(m.holds) < maxOpen {
			m.holds[h.Span] = kept
		}
	case agentpb.Kind_RELEASE:
		delete(m.holds, h.Span)
	}
}

// includes reports whether events of a moment are chosen.
func (c *Choice) includes(ns int64) bool {
	return (c.Until.IsZero() || !wall(ns).After(c.Until)) && (c.Context || c.Since.IsZero() || !wall(ns).Before(c.Since))
}

// endOpen ends the holds and calls whose ends nobody saw, but for some, at a moment. Inner calls end first.
func (m *merge) endOpen(out *agentpb.Batch, goOn map[uint64]bool, mono, at int64) {
	for _, h := range takeOpen(m.holds, goOn) {
		h.Kind, h.CallerLine = agentpb.Kind_RELEASE, 0
		m.made(out, &h, mono, at)
	}
	for _, h := range takeOpen(m.open, goOn) {
		h.Kind, h.CallerLine = agentpb.Kind_EXIT, 0
		m.made(out, &h, mono, at, wire.Flag(probes.FieldEndUnseen, true))
	}
}

// takeOpen removes all but those that go on, and returns them, the innermost first.
func takeOpen(all map[uint64]wire.Header, goOn map[uint64]bool) (out []wire.Header) {
	for span, h := range all {
		if !goOn[span] {
			out = append(out, h)
			delete(all, span)
		}
	}
	slices.SortFunc(out, func(a, b wire.Header) int { return cmp.Compare(b.Span, a.Span) })
	return out
}

// note adds a text to the node's story.
func (m *merge) note(out *agentpb.Batch, text string, mono, at int64) {
	m.made(out, &wire.Header{Kind: agentpb.Kind_NOTE}, mono, at, wire.Text("text", text))
}

// made adds an event that no agent has sent. The numbers of the events after it go up by one.
func (m *merge) made(out *agentpb.Batch, h *wire.Header, mono, at int64, fields ...wire.Field) {
	m.seq++
	m.shift.seq++
	if h.Kind != agentpb.Kind_NOTE {
		h.Duration = max(0, mono-h.Mono)
	}
	h.Seq, h.Mono, h.Time = m.seq, mono, at
	if !m.choice.includes(at) {
		return
	}
	b := h.AppendHead(nil)
	for i := range fields {
		b = fields[i].AppendTo(b)
	}
	out.Events = append(out.Events, wire.AppendTail(b, "", h.Duration, h.Probe, h.CallerLine))
}

// encode encodes an event with another header.
func encode(h *wire.Header, raw []byte) []byte {
	b := h.AppendHead(make([]byte, 0, len(raw)+16))
	for f := range wire.EncodedFields(raw) {
		b = wire.AppendField(b, f)
	}
	return wire.AppendTail(b, h.ErrorText, h.Duration, h.Probe, h.CallerLine)
}
