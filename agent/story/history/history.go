package history

import (
	"slices"
	"strconv"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// DefaultLimit is how many bytes of events a history keeps by default.
const DefaultLimit = 160 << 20

// maxPods bounds the pods of a history: a foreign stream may name any number.
const maxPods = 100_000

// History has the events of a session that are kept. Only one goroutine may use it.
type History struct {
	catalogue *probes.Catalogue
	steps     *steps
	arena     arena
	spans     spans
	holds     map[int][]holdTime // by reference of the call
	pods      []*Pod
	byUID     map[string]int
	epochs    []*Epoch
	epoch     *Epoch // the last one
	origin    int64  // wall clock at session time 0
	last      int64  // session time of the latest event
	limit     int
	calls     int   // bounds the references that a pod keeps; 0: there is no bound
	free      []int // places without a pod, in order

	sights map[int][]int // by call: see Sights

	// record and head are those of the event that is being added.
	record Record
	head   wire.Header

	keep func() []int   // returns the positions of events that are kept although they are old
	kept map[int][]byte // those of them that the arena has forgotten

	forgetting []func(before int)
}

// Pod is a pod of a history. Place 0 is the node itself.
type Pod struct {
	Entity probes.Pod
	Events List[int] // positions
	Spans  List[int] // references
	Stacks List[int] // positions of events with a stack snapshot
	ids    int       // how many numbers of the agent stand for the pod
}

// New makes a history that begins with the agent that info is about.
func New(info *agentpb.InfoResponse, c *probes.Catalogue) *History {
	h := &History{
		catalogue: c, steps: newSteps(c), byUID: map[string]int{}, limit: DefaultLimit, sights: map[int][]int{},
		spans: newSpans(), holds: map[int][]holdTime{}, pods: []*Pod{{}},
	}
	h.SetInfo(info)
	return h
}

// SetLimit bounds the bytes of events that are kept.
func (h *History) SetLimit(bytes int) { h.limit = bytes }

// SetCallLimit bounds to how many of its last calls each pod keeps references. It is for callers that never ask for
// older ones. By default references are kept for as long as the calls.
func (h *History) SetCallLimit(calls int) { h.calls = calls }

// Catalogue returns the catalogue of the steps.
func (h *History) Catalogue() *probes.Catalogue { return h.catalogue }

// Pods returns the number of pods, the node included: places go from 0.
func (h *History) Pods() int { return len(h.pods) }

// Pod returns the pod at a place.
func (h *History) Pod(i int) *Pod { return h.pods[i] }

// PodOf returns the place of the pod with a uid; ok is false if there is none.
func (h *History) PodOf(uid string) (i int, ok bool) {
	if uid == "" {
		return None, false
	}
	i, ok = h.byUID[words.Clean(uid)]
	return i, ok
}

// Learn learns a pod of the present agent, and returns its place. A pod that an earlier agent knew keeps its place.
func (h *History) Learn(p *agentpb.Pod) int {
	e, entity := h.epoch, probes.Pod{Namespace: words.Clean(p.Namespace), Name: words.Clean(p.Name), UID: words.Clean(p.Uid)}
	i, ok := e.pods[p.Id]
	if !ok {
		if i, ok = h.byUID[entity.UID]; !ok || entity.UID == "" {
			i = h.newPod(entity)
		}
		e.name(p.Id, i)
	}
	if i > 0 {
		h.pods[i].Entity = entity
		if entity.UID != "" {
			h.byUID[entity.UID] = i
		}
	}
	return i
}

// Meet returns the place of a pod that is known from elsewhere, such as the API server. If the agent learns of it
// later, it is the same pod, by its UID.
func (h *History) Meet(p probes.Pod) int {
	if i, ok := h.byUID[p.UID]; ok && p.UID != "" {
		return i
	}
	return h.newPod(p)
}

func (h *History) newPod(p probes.Pod) int {
	i := len(h.pods)
	switch {
	case len(h.free) > 0: // the first place, so that the last ones can be given back
		i = h.free[0]
		h.free = slices.Delete(h.free, 0, 1)
		h.pods[i] = &Pod{Entity: p}
	case i >= maxPods:
		return 0
	default:
		h.pods = append(h.pods, &Pod{Entity: p})
	}
	if p.UID != "" {
		h.byUID[p.UID] = i
	}
	return i
}

// Release forgets a pod by the number that the present agent has for it. No event with that number may come any more.
// A later pod gets the place.
func (h *History) Release(id uint32) {
	i, ok := h.epoch.pods[id]
	if !ok || id == 0 {
		return
	}
	delete(h.epoch.pods, id)
	p := h.pods[i]
	if p.ids--; i == 0 || p.ids > 0 {
		return // another number still stands for the pod
	}
	if h.byUID[p.Entity.UID] == i {
		delete(h.byUID, p.Entity.UID)
	}
	h.pods[i] = released
	at, _ := slices.BinarySearch(h.free, i)
	h.free = slices.Insert(h.free, at, i)
	h.cutPods()
}

// cutPods gives back the places without a pod at the end.
func (h *History) cutPods() {
	n := len(h.pods)
	for h.pods[n-1] == released {
		n--
	}
	at, _ := slices.BinarySearch(h.free, n)
	h.pods, h.free = slices.Delete(h.pods, n, len(h.pods)), slices.Delete(h.free, at, len(h.free))
	if cap(h.pods) > 4*n+64 {
		h.pods, h.free = slices.Clone(h.pods), append([]int(nil), h.free...)
	}
}

// released stands in the place of a pod that was forgotten.
var released = &Pod{}

// First and End are the positions of the first event that is kept, and after the
// last.
func (h *History) First() int { return h.arena.first }
func (h *History) End() int   { return h.arena.end }

// Origin returns the wall clock at session time 0, in nanoseconds since 1970; zero before the first event.
func (h *History) Origin() int64 { return h.origin }

// Last returns the session time of the latest event.
func (h *History) Last() int64 { return h.last }

// Raw returns the event at a position as it came; nil: it is not kept.
func (h *History) Raw(pos int) []byte {
	if raw := h.arena.at(pos); raw != nil {
		return raw
	}
	return h.kept[pos]
}

// Keep sets the function that lists the positions of events to keep. They are kept for as long as it lists them,
// however old they become.
func (h *History) Keep(list func() []int) { h.keep = list }

// BeforeForgetting adds a function that is called with a position before the events before it are forgotten. It may still
// read them.
func (h *History) BeforeForgetting(do func(before int)) { h.forgetting = append(h.forgetting, do) }

// keepOld copies the listed events before a position, which are about to be forgotten.
func (h *History) keepOld(before int) {
	if h.keep == nil {
		return
	}
	kept := map[int][]byte{}
	for _, pos := range h.keep() {
		if raw := h.Raw(pos); raw != nil && pos < before {
			kept[pos] = slices.Clone(raw)
		}
	}
	h.kept = kept
}

// Header returns the header of the event at a position; ok is false if the event is not kept.
func (h *History) Header(pos int) (head wire.Header, ok bool) {
	raw := h.Raw(pos)
	if raw == nil {
		return head, false
	}
	head, err := wire.ReadHeader(raw)
	return head, err == nil
}

// Event decodes the event at a position; ok is false if it is not kept.
func (h *History) Event(pos int) (e probes.Event, ok bool) {
	raw := h.Raw(pos)
	if raw == nil {
		return e, false
	}
	ep := h.EpochAt(pos)
	e = ep.Event(raw)
	e.Mono += ep.shift
	return e, true
}

// TimeAt returns the session time of an event; 0: it is not kept.
func (h *History) TimeAt(pos int) int64 {
	head, ok := h.Header(pos)
	if !ok {
		return 0
	}
	return head.Mono + h.EpochAt(pos).shift
}

// Span returns a call by its reference; nil: there is none, or it is forgotten.
func (h *History) Span(ref int) *Span { return h.spans.at(ref) }

// FindSpan returns the reference of a call by the number that the present agent has for it, or None.
func (h *History) FindSpan(id uint64) int {
	if id == 0 {
		return None
	}
	return h.spans.find(id + h.epoch.spans)
}

// SpanOf returns the reference of the call that an event is about, or None.
func (h *History) SpanOf(pos int, head *wire.Header) int {
	return h.spans.find(h.EpochAt(pos).spanID(head.Span))
}

// Epoch is the time of one agent. Numbers of an agent have no meaning in the next epoch.
type Epoch struct {
	// Start is the position of its first event.
	Start int
	Info  *agentpb.InfoResponse
	*wire.Decoder

	states []probeStates   // oldest first; never empty
	due    []dueState      // states in Info that count only from a later event on
	here   []*agentpb.Step // what the agent reports of the steps, by their numbers here

	spans uint64 // added to the agent's span ids
	shift int64  // added to the agent's monotonic times to get session time
	timed bool   // shift is known
	seq   uint64 // of its last event
	skip  uint64 // events up to this one are known already
	// wall and mono are the times of the epoch's last event.
	wall, mono int64
	steps      []StepID
	pods       map[uint32]int
	h          *History
}

// Epoch returns the epoch of the present agent.
func (h *History) Epoch() *Epoch { return h.epoch }

// Seq returns the agent's number of the last event of the epoch; zero: there is none.
func (e *Epoch) Seq() uint64 { return e.seq }

// EpochAt returns the epoch to which the event at a position belongs.
func (h *History) EpochAt(pos int) *Epoch {
	for i := len(h.epochs) - 1; i > 0; i-- {
		if h.epochs[i].Start <= pos {
			return h.epochs[i]
		}
	}
	return h.epochs[0]
}

// SetInfo sets from which agent the next events come. If that is another one than before, a new epoch begins, and
// SetInfo returns true: numbers get a new meaning, and pods stay the same. If it is the same agent, events that it
// sends again are not taken twice, and its probes get the states in info.
func (h *History) SetInfo(info *agentpb.InfoResponse) (isNew bool) {
	if e := h.epoch; e != nil && wire.SameAgent(e.Info, info) {
		e.skip = e.seq
		e.learn(info)
		return false
	}
	e := &Epoch{Start: h.arena.end, pods: map[uint32]int{0: 0}, h: h, Decoder: wire.NewDecoder(info)}
	if h.epoch != nil {
		e.spans = h.spans.lastID + 1
		h.spans.lose(e.Start-1, h.last, nil)
	}
	h.epoch, h.epochs = e, append(h.epochs, e)
	e.learn(info)
	h.pods[0].Entity.Name = words.Clean(info.GetNode())
	return true
}

// learn takes what the agent reports about itself.
func (e *Epoch) learn(info *agentpb.InfoResponse) {
	e.Info = info
	e.steps, e.here = e.h.steps.learn(info)
	e.learnProbes(info)
}

// StepOf maps Event.step. It makes up a name for a number that the agent has not named.
func (e *Epoch) StepOf(n uint32) StepID {
	switch {
	case n == 0:
		return 0
	case int64(n) <= int64(len(e.steps)):
		return e.steps[n-1]
	}
	return e.h.steps.intern("step#"+strconv.FormatUint(uint64(n), 10), "")
}

// PodOf maps Event.pod to a place in the history's pods.
func (e *Epoch) PodOf(id uint32) int {
	i, ok := e.pods[id]
	if !ok {
		i = e.h.newPod(probes.Pod{Name: "pod#" + strconv.FormatUint(uint64(id), 10)})
		e.name(id, i)
	}
	return i
}

// name makes a number of the agent stand for the pod at a place.
func (e *Epoch) name(id uint32, place int) {
	e.pods[id] = place
	e.h.pods[place].ids++
}

func (e *Epoch) spanID(id uint64) uint64 {
	if id == 0 {
		return 0
	}
	return id + e.spans
}

// Bytes returns the size of the events that are kept.
func (h *History) Bytes() int { return h.arena.bytes }
