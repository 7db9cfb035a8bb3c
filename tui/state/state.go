package state

import (
	"strconv"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/filter"
)

// DefaultLimit is how many bytes of events a session keeps if not told
// otherwise. Beyond it the oldest are forgotten.
const DefaultLimit = 160 << 20

// State is a session: all events so far, and where the reader is in them. One
// goroutine uses it.
type State struct {
	lang      Lang
	catalogue *probes.Catalogue
	steps     *steps

	arena       arena
	spans       spans
	pods        []*pod
	byUID       map[string]int
	epochs      []*epoch
	epoch       *epoch // the last one
	origin      int64  // wall clock at session time 0
	now         world
	past        world
	checkpoints []checkpoint
	version     uint64 // grows with all that changes what is shown
	limit       int
	learnt      learnt

	clock   int64 // wall clock of the last Tick
	link    Link
	says    string
	dropped map[string]uint64
	states  map[string]*agentpb.PodState // by uid, as the agent told last
	holds   []liveHold
	breaks  []*agentpb.Breakpoint
	breakAt time.Time

	reader // where the reader is
}

// epoch is the time of one agent: its numbers mean nothing to the next one.
type epoch struct {
	first int    // position of its first event
	spans uint64 // is added to its span ids
	shift int64  // is added to its monotonic times to get session time
	timed bool   // shift is known
	seq   uint64 // of its last event
	skip  uint64 // events up to this one are known already
	// wall and mono are the times of its last event.
	wall, mono int64
	info       *agentpb.InfoResponse
	// beside is set if the probe stands beside the kubelet, not in it: it sees
	// the calls to the runtime and what is said of a pod, but no worker, no
	// turns, and nothing in anything else.
	beside bool
	steps  []stepID
	pods   map[uint32]int
	*wire.Decoder
	session *State
}

// New makes a session with the agent that info is about.
func New(info *agentpb.InfoResponse, c *probes.Catalogue, lang Lang) *State {
	s := &State{
		lang: lang, catalogue: c, steps: newSteps(c), byUID: map[string]int{}, limit: DefaultLimit,
		spans: spans{byID: map[uint64]int{}}, learnt: newLearnt(c), reader: newReader(),
	}
	s.pods = []*pod{{entity: probes.Pod{Name: info.GetNode()}, bound: none}}
	s.now, s.past = world{pods: []podNow{nothingYet}}, world{pods: []podNow{nothingYet}}
	s.SetInfo(info)
	return s
}

// SetLimit bounds the bytes of events that are kept.
func (s *State) SetLimit(bytes int) { s.limit = bytes }

// SetLang changes the language.
func (s *State) SetLang(l Lang) {
	s.lang = l
	s.version++
}

// SetInfo tells which agent the next events come from. If it is not the one
// before, a new epoch begins: its numbers are its own, its pods are the ones
// they were. If it is, what it tells again is not taken twice.
func (s *State) SetInfo(info *agentpb.InfoResponse) {
	s.version++
	if e := s.epoch; e != nil && sameAgent(e.info, info) {
		e.skip = e.seq
		return
	}
	e := &epoch{first: s.arena.end, info: info, beside: info.GetProbe() == probeCRI, pods: map[uint32]int{0: 0}, session: s, Decoder: wire.NewDecoder(info)}
	if s.epoch != nil {
		e.spans = s.spans.lastID + 1
		s.spans.lose(e.first-1, s.now.time)
		s.now.restart()
		s.states, s.holds, s.breaks = nil, nil, nil
		s.breakID = 0 // numbers of the agent before
		for _, p := range s.pods {
			p.cache = layoutCache{}
		}
	}
	e.steps = s.steps.learn(info)
	s.epoch, s.epochs = e, append(s.epochs, e)
	s.pods[0].entity.Name = Clean(info.GetNode())
}

func sameAgent(a, b *agentpb.InfoResponse) bool {
	return a.GetPid() == b.GetPid() && a.GetStarted().AsTime().Equal(b.GetStarted().AsTime()) && a.GetProbe() == b.GetProbe()
}

func (s *State) epochAt(pos int) *epoch {
	for i := len(s.epochs) - 1; i > 0; i-- {
		if s.epochs[i].first <= pos {
			return s.epochs[i]
		}
	}
	return s.epochs[0]
}

// step maps Event.step. A number that the agent did not tell gets a name that
// says so.
func (e *epoch) step(n uint32) stepID {
	switch {
	case n == 0:
		return 0
	case int64(n) <= int64(len(e.steps)):
		return e.steps[n-1]
	}
	return e.session.steps.intern("step#"+strconv.FormatUint(uint64(n), 10), "")
}

// pod maps Event.pod to a place in pods.
func (e *epoch) pod(id uint32) int {
	i, ok := e.pods[id]
	if !ok {
		i = e.session.newPod(probes.Pod{Name: "pod#" + strconv.FormatUint(uint64(id), 10)})
		e.pods[id] = i
	}
	return i
}

// Tick tells the time. A session has no clock of its own. While the agent is
// gone the time stands still: nothing is known of what has happened since.
func (s *State) Tick(now time.Time) {
	if s.link != LinkReconnecting {
		s.clock = now.UnixNano()
	}
}

// SetLink tells how the session is connected, in a word or two.
func (s *State) SetLink(l Link, says string) { s.link, s.says = l, Clean(says) }

// SetDropped tells how many events the agent lost, by kind.
func (s *State) SetDropped(n map[string]uint64) { s.dropped = n }

// SetFilter selects events and pods. The error is for a person.
func (s *State) SetFilter(text string) error {
	f, err := filter.Parse(text)
	if err != nil {
		return err
	}
	s.version++
	s.filter, s.filterText = nil, ""
	if !f.Empty() {
		s.filter, s.filterText = f, f.String()
	}
	s.events.reset()
	return nil
}

// Events is how many events there have been.
func (s *State) Events() int { return s.arena.end }
