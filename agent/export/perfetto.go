package export

import (
	"cmp"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/podstep/podstep/agent/story/calls"
	"github.com/podstep/podstep/probes"
)

// Perfetto writes a trace of TracePackets. A pod is a track, its goroutines are tracks in it,
// and calls are slices there, which nest as the calls do. The catalogue names kinds of
// goroutines. Several of a kind may run at a time, so one kind may take several tracks: lanes.
// A flow goes from a call to another call that it made another goroutine do.
type Perfetto struct {
	out   packets
	about *About
	pods  map[string]*podTracks
	lanes map[*calls.Call]*lane
	// flows are the calls that have an arrow to another call already.
	flows map[uint64]bool
	uuid  uint64
	began bool
}

// podTracks are the tracks of one pod.
type podTracks struct {
	uuid  uint64
	lanes map[string][]*lane // by goroutine
}

// lane is a track, in which slices nest.
type lane struct {
	uuid uint64
	// open are the calls in it that go on, the innermost last.
	open []drawn
	// last is the end of the lane's last slice, or the latest beginning.
	last int64
}

// drawn is a call with the times at which its slice begins, and at which the first slice in it
// begins; 0: there is none in it.
type drawn struct {
	*calls.Call
	begin, first int64
}

// inner returns the innermost call that goes on, or nil.
func (l *lane) inner() *calls.Call {
	if len(l.open) == 0 {
		return nil
	}
	return l.open[len(l.open)-1].Call
}

// nudge is how much later than its call a slice may begin, in nanoseconds. If two slices began
// at one nanosecond, the viewer could not tell which one is in the other.
const nudge = 1000

// begin opens a call's slice.
func (l *lane) begin(c *calls.Call) {
	at := max(c.BeginMono, l.last)
	if len(l.open) > 0 {
		at = max(at, l.open[len(l.open)-1].begin+1)
	}
	l.within(at)
	l.open, l.last = append(l.open, drawn{Call: c, begin: at}), at
}

// within notes that a slice begins inside the innermost one.
func (l *lane) within(at int64) {
	if len(l.open) > 0 {
		if d := &l.open[len(l.open)-1]; d.first == 0 {
			d.first = at
		}
	}
}

// NewPerfetto makes an exporter to the trace format of Perfetto.
func NewPerfetto(w io.Writer, about *About) Exporter {
	return &Perfetto{out: packets{w: w, interned: map[uint64]map[string]uint64{}}, about: about, pods: map[string]*podTracks{}, lanes: map[*calls.Call]*lane{}, flows: map[uint64]bool{}}
}

// mostPodTracks bounds the pods whose tracks are remembered. A pod that comes again afterwards
// gets new ones.
const mostPodTracks = 65536

// Began finds the lane of a call.
func (p *Perfetto) Began(c *calls.Call) {
	l := p.laneFor(c)
	l.begin(c)
	p.lanes[c] = l
}

// laneFor returns the lane of the call around this one, if that call is the innermost there and
// nothing is in the way. Otherwise it returns a lane where nothing is under way.
func (p *Perfetto) laneFor(c *calls.Call) *lane {
	up := p.lanes[c.Up]
	if c.Up != nil && up != nil && c.Goroutine == c.Up.Goroutine && up.inner() == c.Up && up.last <= c.BeginMono+nudge {
		return up
	}
	return p.freeLane(c.Pod, c.Goroutine, c.BeginMono)
}

// freeLane returns a lane of a goroutine in which nothing was under way at a time.
func (p *Perfetto) freeLane(pod *probes.Pod, goroutine string, at int64) *lane {
	t := p.tracksOf(pod)
	for _, l := range t.lanes[goroutine] {
		if len(l.open) == 0 && l.last <= at {
			return l
		}
	}
	l := &lane{uuid: p.newUUID()}
	t.lanes[goroutine] = append(t.lanes[goroutine], l)
	p.out.track(l.uuid, t.uuid, cmp.Or(goroutine, "unknown goroutine"), "")
	return l
}

func (p *Perfetto) newUUID() uint64 {
	p.uuid++
	return p.uuid
}

// tracksOf returns the tracks of a pod; nil stands for the node.
func (p *Perfetto) tracksOf(pod *probes.Pod) *podTracks {
	uid, name, text := "", "node "+p.about.Info.GetNode(), "what the kubelet does for no single pod"
	if pod != nil {
		uid, name = pod.UID, pod.NamespacedName()
		text = "pod " + pod.NamespacedName() + ", uid " + pod.UID
		if uid == "" {
			uid = "/" + name
		}
	}
	t := p.pods[uid]
	if t == nil {
		if len(p.pods) >= mostPodTracks {
			p.forgetPods()
		}
		t = &podTracks{uuid: p.newUUID(), lanes: map[string][]*lane{}}
		p.pods[uid] = t
		p.out.track(t.uuid, 0, name, text)
	}
	return t
}

// forgetPods forgets the pods of which nothing goes on.
func (p *Perfetto) forgetPods() {
	maps.DeleteFunc(p.pods, func(_ string, t *podTracks) bool {
		for _, lanes := range t.lanes {
			if slices.ContainsFunc(lanes, func(l *lane) bool { return len(l.open) > 0 }) {
				return false
			}
		}
		return true
	})
}

// Ended writes a call.
func (p *Perfetto) Ended(c *calls.Call) error {
	p.clock(c.Begin, c.BeginMono)
	l := p.lanes[c]
	delete(p.lanes, c)
	if l == nil {
		// The call's beginning was not seen, and what happened in the call was written already.
		l = p.freeLane(c.Pod, c.Goroutine, c.BeginMono)
		l.begin(c)
	}
	p.slice(l, p.removeFromLane(l, c))
	return p.out.flush()
}

// removeFromLane takes a call out of its lane. It puts the calls inside it that go on into
// other lanes: they are on other goroutines.
func (p *Perfetto) removeFromLane(l *lane, c *calls.Call) drawn {
	i := slices.IndexFunc(l.open, func(d drawn) bool { return d.Call == c })
	others := slices.Clone(l.open[i+1:])
	d := l.open[i]
	l.open = l.open[:i]
	l.last = max(l.last, c.EndMono)
	for _, other := range others {
		to := p.freeLane(other.Pod, other.Goroutine, other.BeginMono)
		to.begin(other.Call)
		p.lanes[other.Call] = to
	}
	return d
}

// categoryHeld marks slices of holds, and categoryError calls that failed.
const (
	categoryHeld  = "hold"
	categoryError = "error"
)

func (p *Perfetto) slice(l *lane, d drawn) {
	c := d.Call
	categories := []string{cmp.Or(c.Stage, "unknown")}
	if c.Error != "" {
		categories = append(categories, categoryError)
	}
	b := p.out.event(d.begin, l.uuid, typeBegin, cmp.Or(c.Step, "unknown"), categories...)
	p.args(b, c)
	p.flow(b, c)
	b.end()
	// A hold on entry comes before all that happens in the call.
	at, most := d.begin, l.last
	if d.first != 0 {
		most = max(d.begin, d.first-1)
	}
	for i := range c.Holds {
		h := &c.Holds[i]
		at = min(max(at, h.Mono), most)
		until := most
		if h.Over {
			until = min(max(at, h.Mono+int64(h.Length)), most)
		}
		p.hold(l, c, h, at, until, h.Over || !c.Open || d.first != 0)
		at = until
	}
	for _, e := range c.Marks {
		p.mark(l, e)
	}
	if c.Open {
		return
	}
	if c.Error != "" {
		b := p.out.event(l.last, l.uuid, typeInstant, "error: "+c.Step, categoryError)
		b.text("error", c.Error)
		b.end()
	}
	p.out.event(l.last, l.uuid, typeEnd, "").end()
}

// mostFlows bounds the calls that are remembered because they have an arrow.
const mostFlows = 65536

// flow makes arrows come from the call, and go to it. Any call may turn out later to have
// started another goroutine's call, so each is the beginning of a flow. A flow is a chain, so
// only the first of several calls gets its arrow; each has its caller as an argument.
func (p *Perfetto) flow(b *packet, c *calls.Call) {
	if c.Span == 0 {
		return
	}
	b.value("span", int64(c.Span))
	b.flow(c.Span)
	for _, link := range links(c) {
		from := link.from
		b.value(link.name, int64(from.Span))
		if len(p.flows) >= mostFlows {
			clear(p.flows)
		}
		if !p.flows[from.Span] {
			p.flows[from.Span] = true
			b.flow(from.Span)
		}
	}
}

// hold writes a hold. A hold that goes on when the stream ends gets no end.
func (p *Perfetto) hold(l *lane, c *calls.Call, h *calls.Hold, from, until int64, ended bool) {
	b := p.out.event(from, l.uuid, typeBegin, "held at "+c.Step, categoryHeld)
	b.text("on", h.On)
	b.text("reason", h.Reason)
	b.end()
	if ended {
		p.out.event(until, l.uuid, typeEnd, "").end()
	}
}

// Held writes a hold on exit, which comes after its call.
func (p *Perfetto) Held(c *calls.Call, h *calls.Hold) error {
	l := p.lanes[c.Up]
	if c.Up == nil || l == nil || l.inner() != c.Up || l.last > h.Mono {
		l = p.freeLane(c.Pod, c.Goroutine, h.Mono)
	}
	l.within(h.Mono)
	l.last = max(h.Mono, h.Mono+int64(h.Length))
	p.hold(l, c, h, h.Mono, l.last, true)
	return p.out.flush()
}

// Marked writes an event about no call.
func (p *Perfetto) Marked(e *probes.Event) error {
	if _, is := e.Sight(); is {
		return nil
	}
	p.clock(e.Time, e.Mono)
	t := p.tracksOf(e.Pod)
	p.mark(&lane{uuid: t.uuid}, e)
	return p.out.flush()
}

func (p *Perfetto) mark(l *lane, e *probes.Event) {
	if _, is := e.Sight(); is {
		return
	}
	b := p.out.event(e.Mono, l.uuid, typeInstant, markName(e), string(e.Kind))
	for _, name := range slices.Sorted(maps.Keys(e.Fields)) {
		b.value(name, e.Fields[name])
	}
	b.text("error", e.Error)
	b.end()
}

// markName returns the name of an event about no call.
func markName(e *probes.Event) string {
	if e.Kind == probes.Drop {
		return "events were lost: " + e.Lost()
	}
	if e.Step == "" {
		return string(e.Kind)
	}
	return string(e.Kind) + " " + e.Step
}

func (p *Perfetto) args(b *packet, c *calls.Call) {
	for _, of := range []map[string]any{c.Args, c.Results} {
		for _, name := range slices.Sorted(maps.Keys(of)) {
			b.value(name, of[name])
		}
	}
	b.text("error", c.Error)
	if c.Sync != 0 {
		b.value("sync", int64(c.Sync))
	}
	b.text("probe", c.Probe)
	if c.Held > 0 {
		b.value("held_ns", int64(c.Held))
	}
	if c.NoEnter {
		b.value("beginUnseen", true)
	}
	if c.NoExit {
		b.value("endUnseen", true)
	}
}

// clock writes, once, what the wall clock was at a time of the agent's.
func (p *Perfetto) clock(wall time.Time, mono int64) {
	if !p.began {
		p.began = true
		p.out.clock(wall.UnixNano(), mono)
	}
}

// Close writes what is left.
func (p *Perfetto) Close() error { return p.out.flush() }

// link is a call on another goroutine that led to this call.
type link struct {
	name string
	from *calls.Ref
}

func links(c *calls.Call) (out []link) {
	if c.Caller != nil {
		out = append(out, link{"caller", c.Caller})
	}
	if c.Asked != nil {
		out = append(out, link{"askedBy", c.Asked})
	}
	return out
}
