package alert

import (
	"maps"
	"slices"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
)

// Bounds of what goes on: calls that may become long, sequences that wait for their next part.
const (
	mostOfPod = 256
	mostOfAll = 65536
)

// historyBytes bounds the events that a matcher keeps, and historyCalls the calls that it remembers of a pod. Events to
// which pods refer are kept beside them.
const (
	historyBytes = 16 << 20
	historyCalls = 256
)

// tickEvery is how often the states of pods are looked at while no event comes: a pod gets stuck by time alone. If
// nothing comes for longer than mostTicks of them, they are further apart. A batch of a recording whose clock jumps again and
// again takes looksOfBatch of them, and then one for each gap.
const (
	tickEvery    = int64(time.Second)
	mostTicks    = 3600
	looksOfBatch = 4 * mostTicks
)

// Options choose what a matcher takes into account.
type Options struct {
	// Pods chooses pods; an empty selector means all.
	Pods *agentpb.PodSelector
	// Node: also events of the node, which belong to no pod.
	Node bool
	// Match takes the matches, Lost the events which report that others were lost. Neither may be nil.
	Match func(*Match)
	Lost  func(*probes.Event)
}

// Matcher finds the matches of an alert in the events of one agent or recording. Only one goroutine may use it.
type Matcher struct {
	alert *Alert
	o     Options
	h     *history.History
	lives *life.Lives
	pods  map[int]*pod // by place
	order []*pod       // as they came
	ids   map[int]uint32
	dues  dues
	count int // of all pods
	// now is the session time up to which all is known, and tick when states are looked at next.
	now, tick int64
	swept     int64
	// latest is the session time of the latest event, and wall what the wall clock showed then.
	latest, wallThen int64
	ticks            bool
	silent           bool
	dropped          uint64
	// looks is how often the states were looked at in the present batch.
	looks int
}

// pod is what a matcher knows about a pod.
type pod struct {
	place int
	// calls are the calls that may become long, or have, by part and reference.
	calls map[callPart]*call
	// begun are the calls whose beginning matched a part.
	begun map[callPart]bool
	// inState are the parts whose state has matched, and which has lasted since.
	inState []bool
	// waiting are the sequences that wait for a part, by the part: one, or several for a part that must not match.
	waiting [][]*due
	count   int
}

type callPart struct{ part, span int }

// call is a call that goes on, and matched a part by its beginning.
type call struct {
	due  *due
	long bool // it has gone on for long
}

// New makes a matcher for the events of the agent, or of the recording, that info is about.
func New(a *Alert, info *agentpb.InfoResponse, c *probes.Catalogue, o Options) *Matcher {
	h := history.New(info, c)
	h.SetLimit(historyBytes)
	h.SetCallLimit(historyCalls)
	return &Matcher{alert: a, o: o, h: h, lives: life.NewPresent(h), pods: map[int]*pod{}, ids: map[int]uint32{}, ticks: a.hasState()}
}

// Dropped returns how many calls and sequences were not followed, because too many were under way.
func (m *Matcher) Dropped() uint64 { return m.dropped }

// Last returns the session time of the latest event, in nanoseconds.
func (m *Matcher) Last() int64 { return m.latest }

// At returns the session time at which the wall clock shows a time; ok is false before the first event. It goes by the
// latest event, so that it does not matter if the clock was set before.
func (m *Matcher) At(wall time.Time) (at int64, ok bool) {
	return m.latest + max(0, wall.UnixNano()-m.wallThen), m.wallThen != 0
}

// Add takes the next batch of events.
func (m *Matcher) Add(b *agentpb.Batch) {
	first := m.h.First()
	m.looks = 0
	m.h.Add(b, m.addEvent)
	for _, p := range b.GetPods() {
		if place, ok := m.h.PodOf(p.Uid); ok {
			m.ids[place] = p.Id
		}
	}
	m.releaseGone()
	if now := m.h.First(); now != first {
		m.lives.Forget(now)
	}
}

// Adopt takes the agent's own states of pods. The agent knows the whole story of a pod, of which it may have sent the
// end alone.
func (m *Matcher) Adopt(listed []*agentpb.PodState) {
	if m.h.Origin() == 0 {
		return
	}
	for _, s := range listed {
		place := m.h.Learn(s.GetPod())
		m.lives.Adopt(place, s)
		m.podAt(place)
	}
}

// Silent keeps matches from being reported, until Live is called: what the agent remembers is over.
func (m *Matcher) Silent() { m.silent = true }

// Live ends the silence. What matched before and has lasted since is reported now: calls that go on, states of pods.
// Sequences that wait for their next part go on waiting.
func (m *Matcher) Live() {
	m.silent = false
	if len(m.alert.parts) > 1 {
		return
	}
	for _, p := range m.order {
		clear(p.inState)
		for _, key := range slices.SortedFunc(maps.Keys(p.calls), func(a, b callPart) int { return a.span - b.span }) {
			if c := p.calls[key]; c.long {
				m.hit(p, 0, m.now, c.due.seen)
			}
		}
	}
	m.lookAtStates(m.now)
}

// addEvent takes an event of the history.
func (m *Matcher) addEvent(r *history.Record) {
	m.Advance(r.Time)
	if r.Time >= m.latest {
		m.latest, m.wallThen = r.Time, r.Header.Time
	}
	m.lives.Apply(r)
	if r.Header.Kind == agentpb.Kind_DROP {
		if e, ok := m.h.Event(r.Pos); ok {
			m.o.Lost(&e)
		}
		return
	}
	if !m.selects(r.Pod) {
		return
	}
	p := m.podAt(r.Pod)
	m.ended(p, r)
	e, ok := m.h.Event(r.Pos)
	if !ok {
		return
	}
	// From the last part on: an event is not one of a sequence and the next one, too.
	for i := len(m.alert.parts) - 1; i >= 0; i-- {
		switch m.alert.parts[i].kind {
		case ofEvent:
			m.matchEvent(p, i, r, &e)
		case ofRunning:
			m.matchBeginning(p, i, r, &e)
		case ofState:
			m.matchState(p, i, m.now)
		}
	}
	m.forgetEnded(p, r)
}

func (m *Matcher) selects(place int) bool {
	if place == 0 {
		return m.o.Node
	}
	e := &m.h.Pod(place).Entity
	return m.o.Pods.Selects(e.Namespace, e.Name)
}

func (m *Matcher) podAt(place int) *pod {
	p := m.pods[place]
	if p == nil {
		n := len(m.alert.parts)
		p = &pod{place: place, calls: map[callPart]*call{}, begun: map[callPart]bool{}, inState: make([]bool, n), waiting: make([][]*due, n)}
		m.pods[place] = p
		m.order = append(m.order, p)
	}
	return p
}

// A pod is forgotten when it has been gone for goneFor. Those that are gone are looked for every goneFor.
const goneFor = int64(10 * time.Minute)

// releaseGone forgets pods that are gone, for a matcher may run for months.
func (m *Matcher) releaseGone() {
	if m.now-m.swept < goneFor {
		return
	}
	m.swept = m.now
	m.order = slices.DeleteFunc(m.order, func(p *pod) bool {
		id, known := m.ids[p.place]
		about := m.lives.Now().Pod(p.place)
		if state, _ := m.lives.State(about, m.now); !known || p.count > 0 || state != life.Gone || m.now-about.Last < goneFor {
			return false
		}
		delete(m.pods, p.place)
		delete(m.ids, p.place)
		m.h.Release(id)
		m.lives.Release(p.place)
		return true
	})
}

// Next returns the session time at which something may match without an event; ok is false if there is none.
func (m *Matcher) Next() (at int64, ok bool) {
	d := m.dues.first()
	switch {
	case m.ticks && len(m.pods) > 0 && (d == nil || m.tick < d.at):
		return m.tick, true
	case d != nil:
		return d.at, true
	}
	return 0, false
}

// Advance takes the session time: no event from before comes any more.
func (m *Matcher) Advance(to int64) {
	step := max(tickEvery, (to-m.now)/mostTicks)
	if m.looks > looksOfBatch {
		step = max(tickEvery, to-m.now)
	}
	for {
		at, ok := m.Next()
		if !ok || at > to {
			break
		}
		m.now = max(m.now, at)
		if d := m.dues.first(); d != nil && d.at <= at {
			m.dues.dropFirst()
			m.happen(d)
			continue
		}
		m.lookAtStates(m.now)
		m.looks++
		m.tick = m.now + step
	}
	m.now = max(m.now, to)
	if m.tick = min(m.tick, m.now+tickEvery); m.tick == 0 {
		m.tick = m.now + tickEvery
	}
}

// happen handles what is due.
func (m *Matcher) happen(d *due) {
	p := m.pods[d.place]
	if m.alert.parts[d.part].absent && d.span == history.None {
		m.unwait(p, d)
		m.report(p, append(slices.Clip(d.head), Part{Part: m.alert.parts[d.part].text, Time: m.wall(d.at), AbsentNs: int64(m.alert.parts[d.part].within)}))
		return
	}
	key := callPart{d.part, d.span}
	c := p.calls[key]
	if sp := m.h.Span(d.span); c == nil || sp != nil && sp.Exit != history.None {
		delete(p.calls, key) // its probe works no more
		m.drop(p, d)
		return
	}
	c.long = true
	m.hit(p, d.part, d.at, d.seen)
}

// wall returns the wall clock at a session time.
func (m *Matcher) wall(at int64) time.Time { return time.Unix(0, m.h.Origin()+at) }
