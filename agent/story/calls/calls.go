// Package calls puts the events of a stream together to calls, as they come: when a call began and ended, in which
// call it happened, which update it is for, how long it was held. It keeps only the calls that go on, so a stream may
// be of any length. Package history also keeps the past.
package calls

import (
	"slices"
	"time"

	"github.com/podstep/podstep/probes"
)

// Ref names a call, which may be over.
type Ref struct {
	Span uint64
	Pod  *probes.Pod
}

// Hold is one hold of the pod at a call.
type Hold struct {
	// On is the side of the step: enter or exit. A hold on exit comes after the call.
	On   string
	From time.Time
	Mono int64
	// Length is valid once the hold is Over.
	Length time.Duration
	Over   bool
	// Reason is why the hold ended, as in the agent's event.
	Reason string
}

// Call is a call of a step, as part of one pod's story.
type Call struct {
	Span uint64
	// Up is the call in which it happened, of the same goroutine as far as is known; nil: there is none.
	Up *Call
	// Caller is the call that caused it and did not wait for it, since it runs on another goroutine. Asked is the
	// update for which its turn of the worker was made.
	Caller, Asked *Ref

	Pod                    *probes.Pod // nil: the node
	Stage, Step, Goroutine string
	Probe                  string
	Sync                   uint32

	// Begin and End are of the wall clock; BeginMono and EndMono of the agent's, which
	// never jumps.
	Begin, End         time.Time
	BeginMono, EndMono int64
	Args, Results      map[string]any
	Error              string
	// NoEnter: the beginning of the call was not seen. NoExit: the end was not seen. Open: the end was not seen
	// because the stream ended before.
	NoEnter, NoExit, Open bool

	// Holds are the holds on entry. Held is for how much of its time holds stopped the call, also holds of calls in it.
	// Holds are not taken off the time of a call that is a goroutine's whole life, as package history does not.
	Holds []Hold
	Held  time.Duration
	// Marks are the other events about the call: faults and notes.
	Marks []*probes.Event

	times []heldTime
	over  bool
}

// Took returns how long the call took, holds included.
func (c *Call) Took() time.Duration { return time.Duration(c.EndMono - c.BeginMono) }

// Goes reports whether the call goes on.
func (c *Call) Goes() bool { return !c.over }

// Taker takes the calls of a stream.
type Taker interface {
	// Began takes each call whose beginning was seen.
	Began(*Call)
	// Ended takes each call once it has ended, with all that is known of it.
	Ended(*Call) error
	// Held takes a hold on exit when it ends. Its call is over.
	Held(*Call, *Hold) error
	// Marked takes an event about no call that goes on.
	Marked(*probes.Event) error
}

// These bound what is kept. A kubelet has a few calls a pod under way. Beyond the bound the oldest is given up, as a
// call whose end was not seen.
const (
	mostOpen  = 65536
	mostEnded = 4096
	mostPods  = 65536
)

// Stream makes calls of events.
type Stream struct {
	to    Taker
	roles map[string]probes.Role
	open  map[uint64]*Call
	// order has the open calls from the oldest, and calls that have ended since.
	order []*Call
	// ended are the last calls that ended: a hold on exit comes after its call.
	ended  map[uint64]*Call
	recent []uint64
	// asked has the last update in the mailbox of each pod's worker; taken has the one that the worker has read.
	asked, taken map[string]*Ref
	last         *probes.Event
}

// New makes a stream that passes its calls to a taker.
func New(to Taker, c *probes.Catalogue) *Stream {
	s := &Stream{to: to, roles: map[string]probes.Role{}, open: map[uint64]*Call{}, ended: map[uint64]*Call{}, asked: map[string]*Ref{}, taken: map[string]*Ref{}}
	for i := range c.Steps {
		s.roles[c.Steps[i].Name] = c.Steps[i].Story.Role
	}
	return s
}

// Add takes the next event.
func (s *Stream) Add(e *probes.Event) error {
	s.last = e
	switch {
	case e.Kind == probes.Enter && e.Span != 0:
		return s.enter(e)
	case e.Kind == probes.Exit:
		return s.exit(e)
	case e.Kind == probes.Held && e.Span != 0:
		s.hold(e)
		return nil
	case e.Kind == probes.Released && e.Span != 0:
		return s.release(e)
	}
	if c := s.open[e.Span]; c != nil {
		if len(c.Marks) < mostMarks {
			c.Marks = append(c.Marks, e)
		}
		return nil
	}
	return s.to.Marked(e)
}

// mostMarks bounds the marks that are kept of one call, and the holds.
const mostMarks = 64

// Close gives up the calls that go on, the innermost first.
func (s *Stream) Close() error {
	for i := len(s.order) - 1; i >= 0; i-- {
		s.order[i].Open = !s.order[i].over
		if err := s.giveUp(s.order[i]); err != nil {
			return err
		}
	}
	s.order = nil
	return nil
}

func (s *Stream) giveUp(c *Call) error {
	if c.over {
		return nil
	}
	c.NoExit, c.End, c.EndMono = true, s.last.Time, max(s.last.Mono, c.BeginMono)
	return s.end(c)
}

func call(e *probes.Event) *Call {
	return &Call{Span: e.Span, Pod: e.Pod, Stage: e.Stage, Step: e.Step, Goroutine: e.Goroutine, Probe: e.Probe, Sync: e.Sync}
}

func (s *Stream) enter(e *probes.Event) error {
	c := call(e)
	c.Begin, c.BeginMono, c.Args = e.Time, e.Mono, e.Fields
	if was := s.open[e.Span]; was != nil {
		// The event is of another agent, which numbers its calls anew.
		if err := s.giveUp(was); err != nil {
			return err
		}
	}
	s.place(c, e.Parent)
	if c.Pod != nil && s.roles[c.Step] == probes.RoleTurn {
		c.Asked = s.taken[c.Pod.UID]
		delete(s.taken, c.Pod.UID)
	}
	s.open[c.Span] = c
	s.order = append(s.order, c)
	s.to.Began(c)
	return s.bound()
}

// place sets the call in which c happens, or the call that caused it.
func (s *Stream) place(c *Call, parent uint64) {
	if up := s.open[parent]; parent != 0 && up != nil {
		c.Up = up
	} else if up := s.ended[parent]; parent != 0 && up != nil {
		c.Caller = &Ref{up.Span, up.Pod}
	}
}

func (s *Stream) exit(e *probes.Event) error {
	c := s.open[e.Span]
	if c == nil || e.Span == 0 {
		c = call(e)
		c.NoEnter, c.Begin, c.BeginMono = true, e.Time.Add(-time.Duration(e.DurationNs)), e.Mono-e.DurationNs
		s.place(c, e.Parent)
	}
	c.Results, c.Error = e.Fields, e.Error
	if unseen, _ := e.Fields[probes.FieldEndUnseen].(bool); unseen {
		c.NoExit = true
		delete(c.Results, probes.FieldEndUnseen)
	}
	if e.Sync != 0 {
		c.Sync = e.Sync
	}
	c.EndMono = max(e.Mono, c.BeginMono)
	// The wall clock may have been set meanwhile.
	c.End = c.Begin.Add(c.Took())
	return s.end(c)
}

func (s *Stream) end(c *Call) error {
	c.over = true
	if c.Up != nil && c.Up.over {
		c.Caller, c.Up = &Ref{c.Up.Span, c.Up.Pod}, nil
	}
	for i := range c.Holds {
		if h := &c.Holds[i]; !h.Over {
			h.Length = time.Duration(c.EndMono - h.Mono)
		}
	}
	c.Held, c.times = heldWithin(c.times, c.BeginMono, c.EndMono), nil
	s.mailbox(c)
	if c.Span != 0 {
		delete(s.open, c.Span)
		s.remember(c)
	}
	return s.to.Ended(c)
}

// mailbox follows an update from the call that asks for it to the turn that handles it.
func (s *Stream) mailbox(c *Call) {
	if c.Pod == nil || c.Span == 0 {
		return
	}
	uid := c.Pod.UID
	switch s.roles[c.Step] {
	case probes.RoleUpdate:
		if len(s.asked) >= mostPods {
			clear(s.asked)
		}
		s.asked[uid] = &Ref{c.Span, c.Pod}
	case probes.RoleBegin:
		if len(s.taken) >= mostPods {
			clear(s.taken)
		}
		s.taken[uid] = s.asked[uid]
		delete(s.asked, uid)
	case probes.RoleEnd, probes.RoleRemove:
		delete(s.taken, uid)
	}
}

// remember keeps a call that has ended for a while: calls that it did not wait for, and
// holds on its exit, come later.
func (s *Stream) remember(c *Call) {
	if len(s.recent) >= mostEnded {
		delete(s.ended, s.recent[0])
		s.recent = s.recent[1:]
	}
	s.ended[c.Span] = c
	s.recent = append(s.recent, c.Span)
}

// bound forgets what has ended, and gives up the oldest call if there are too many.
func (s *Stream) bound() error {
	for len(s.order) > 0 && (s.order[0].over || len(s.open) > mostOpen) {
		oldest := s.order[0]
		s.order = s.order[1:]
		if err := s.giveUp(oldest); err != nil {
			return err
		}
	}
	if len(s.order) > 2*len(s.open)+1024 {
		s.order = slices.DeleteFunc(s.order, func(c *Call) bool { return c.over })
	}
	return nil
}

func (s *Stream) hold(e *probes.Event) {
	c := s.callOf(e)
	if c == nil || len(c.Holds) >= mostMarks {
		return
	}
	on, _ := e.Fields["on"].(string)
	c.Holds = append(c.Holds, Hold{On: on, From: e.Time, Mono: e.Mono})
	s.withHeld(c, func(c *Call) { c.beginHeld(e.Mono) })
}

func (s *Stream) release(e *probes.Event) error {
	c := s.callOf(e)
	if c == nil {
		return s.to.Marked(e)
	}
	h := lastOpen(c)
	if h == nil { // its beginning was not seen
		c.Holds = append(c.Holds, Hold{From: e.Time.Add(-time.Duration(e.DurationNs)), Mono: e.Mono - e.DurationNs})
		h = &c.Holds[len(c.Holds)-1]
	}
	h.Over, h.Length = true, time.Duration(e.Mono-h.Mono)
	h.Reason, _ = e.Fields["reason"].(string)
	s.withHeld(c, func(c *Call) { c.endHeld(e.Mono, max(0, e.DurationNs)) })
	if c.over {
		return s.to.Held(c, h)
	}
	return nil
}

// callOf returns the call that an event is about. It may be over. It returns nil if the call is not known.
func (s *Stream) callOf(e *probes.Event) *Call {
	if c := s.open[e.Span]; c != nil {
		return c
	}
	return s.ended[e.Span]
}

// lastOpen is the hold of a call that goes on, or nil.
func lastOpen(c *Call) *Hold {
	for i := len(c.Holds) - 1; i >= 0; i-- {
		if !c.Holds[i].Over {
			return &c.Holds[i]
		}
	}
	return nil
}
