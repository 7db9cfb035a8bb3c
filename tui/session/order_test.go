package session

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/agenttest"
	"github.com/podstep/podstep/agent/wire/eventtest"
)

// holdEvent is a HOLD or RELEASE event of a pod.
func holdEvent(seq uint64, kind agentpb.Kind, pod uint32, span uint64) []byte {
	return eventtest.Encode(&agentpb.Event{Seq: seq, Kind: kind, Pod: pod, Span: span})
}

// takenWith returns the holds that are delivered with a batch of these events; nil if none are delivered.
func (o *order) takenWith(events ...[]byte) *Holds {
	n := o.ofBatch(&agentpb.Batch{Events: events})
	o.deliver(&n, time.Time{})
	return n.Holds
}

// polled returns the holds that are delivered with a poll.
func (o *order) polled() *Holds {
	n := News{order: o, Poll: &Poll{}}
	o.deliver(&n, time.Time{})
	return n.Holds
}

func ids(h *Holds) (out []uint32) {
	for _, h := range h.List {
		out = append(out, h.Id)
	}
	return out
}

// TestOrder: whatever overtakes what, a hold is listed from its event to the event of its release.
func TestOrder(t *testing.T) {
	const hold, release = agentpb.Kind_HOLD, agentpb.Kind_RELEASE
	info := func(id uint32, seq uint64) *agentpb.HoldInfo {
		return &agentpb.HoldInfo{Id: id, Pod: &agentpb.Pod{Id: 1}, Seq: seq}
	}
	list := func(seq uint64, holds ...*agentpb.HoldInfo) *agentpb.ListHoldsResponse {
		return &agentpb.ListHoldsResponse{Seq: seq, Holds: holds}
	}
	for name, run := range map[string]func(o *order) (got, want []uint32){
		"the answer comes first": func(o *order) (got, want []uint32) {
			o.granted(info(1, 5), time.Time{})
			return ids(o.polled()), nil
		},
		"then its event": func(o *order) (got, want []uint32) {
			o.granted(info(1, 5), time.Time{})
			return ids(o.takenWith(holdEvent(5, hold, 1, 9))), []uint32{1}
		},
		"the event comes first": func(o *order) (got, want []uint32) {
			o.takenWith(holdEvent(5, hold, 1, 9))
			o.listed(list(5, info(1, 5)), time.Time{})
			return ids(o.polled()), []uint32{1}
		},
		"a release": func(o *order) (got, want []uint32) {
			o.takenWith(holdEvent(5, hold, 1, 9))
			o.listed(list(5, info(1, 5)), time.Time{})
			return ids(o.takenWith(holdEvent(6, release, 1, 9))), nil
		},
		"the answer comes after the release": func(o *order) (got, want []uint32) {
			o.takenWith(holdEvent(5, hold, 1, 9), holdEvent(6, release, 1, 9))
			o.granted(info(1, 5), time.Time{})
			return ids(o.polled()), nil
		},
		"a list of before the hold": func(o *order) (got, want []uint32) {
			o.takenWith(holdEvent(5, hold, 1, 9))
			o.granted(info(1, 5), time.Time{})
			o.listed(list(4), time.Time{})
			return ids(o.polled()), []uint32{1}
		},
		"a list of before the release": func(o *order) (got, want []uint32) {
			o.takenWith(holdEvent(5, hold, 1, 9), holdEvent(6, release, 1, 9))
			o.listed(list(5, info(1, 5)), time.Time{})
			return ids(o.polled()), nil
		},
		"a list of after the release": func(o *order) (got, want []uint32) {
			o.takenWith(holdEvent(5, hold, 1, 9))
			o.granted(info(1, 5), time.Time{})
			o.listed(list(6), time.Time{})
			return ids(o.polled()), []uint32{1}
		},
		"the release is lost": func(o *order) (got, want []uint32) {
			o.takenWith(holdEvent(5, hold, 1, 9))
			o.granted(info(1, 5), time.Time{})
			o.listed(list(6), time.Time{})
			o.takenWith(holdEvent(7, hold, 2, 10))
			return ids(o.polled()), nil
		},
		"the hold is lost": func(o *order) (got, want []uint32) {
			o.takenWith(holdEvent(3, release, 1, 8), holdEvent(7, hold, 2, 10))
			o.listed(list(7, info(1, 5)), time.Time{})
			return ids(o.polled()), []uint32{1}
		},
		"two holds of a pod": func(o *order) (got, want []uint32) {
			o.takenWith(holdEvent(5, hold, 1, 9), holdEvent(6, hold, 1, 10))
			o.listed(list(6, info(2, 6), info(1, 5)), time.Time{})
			if both := ids(o.polled()); !slices.Equal(both, []uint32{1, 2}) {
				return both, []uint32{1, 2}
			}
			return ids(o.takenWith(holdEvent(7, release, 1, 9))), []uint32{2}
		},
		"the answer, its HOLD event was lost": func(o *order) (got, want []uint32) {
			o.takenWith(holdEvent(5, release, 1, 9))
			o.granted(info(1, 0), time.Time{})
			return ids(o.polled()), []uint32{1}
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got, want := run(newOrder()); !slices.Equal(got, want) {
				t.Errorf("held are %v, want %v", got, want)
			}
		})
	}
	o := newOrder()
	o.takenWith(holdEvent(5, hold, 1, 9))
	o.listed(list(6), time.Time{})
	if o.takenWith(holdEvent(7, hold, 2, 9)); len(o.begun) != 1 {
		t.Errorf("of a hold whose release is lost %v is kept", o.begun)
	}
	if h := newOrder().takenWith(holdEvent(5, agentpb.Kind_ENTER, 1, 9)); h != nil {
		t.Errorf("a batch that is about no hold gives out %v", h)
	}
}

// TestHeldTimes: the times of a hold are what is left of them at the moment of delivery.
func TestHeldTimes(t *testing.T) {
	o, at := newOrder(), time.Unix(1000, 0)
	o.granted(&agentpb.HoldInfo{
		Id: 1, Lease: durationpb.New(time.Minute), Ends: durationpb.New(2 * time.Second),
		Budget: &agentpb.Budget{Left: durationpb.New(3 * time.Second)},
	}, at)
	n := News{order: o, granted: true}
	o.deliver(&n, at.Add(2500*time.Millisecond))
	h := n.Holds.List[0]
	if h.Lease.AsDuration() != 57500*time.Millisecond || h.Ends.AsDuration() != 0 || h.Budget.Left.AsDuration() != time.Second/2 {
		t.Errorf("left are %v", h)
	}
}

// simulated is an agent whose answers and events arrive in any order relative to each other.
type simulated struct {
	seq, taken uint64
	held       map[uint32]*agentpb.HoldInfo // by pod
	events     [][]byte                     // not yet taken by the order
	byEvents   map[uint32]uint32            // hold by pod, as of the events that were taken
	lists      []*agentpb.ListHoldsResponse
	answers    []*agentpb.HoldInfo
	last       uint32
}

// acts holds a pod, lets it go, or answers.
func (s *simulated) acts(r *rand.Rand) {
	pod := uint32(1 + r.IntN(3))
	switch h := s.held[pod]; {
	case r.IntN(3) == 0:
		list := &agentpb.ListHoldsResponse{Seq: s.seq}
		for _, h := range s.held {
			list.Holds = append(list.Holds, h)
		}
		s.lists = append(s.lists, list)
	case h != nil:
		s.seq++
		s.events = append(s.events, holdEvent(s.seq, agentpb.Kind_RELEASE, pod, uint64(h.Id)))
		delete(s.held, pod)
	default:
		s.seq++
		s.last++
		h := &agentpb.HoldInfo{Id: s.last, Pod: &agentpb.Pod{Id: pod}, Seq: s.seq}
		s.held[pod] = h
		s.events = append(s.events, holdEvent(s.seq, agentpb.Kind_HOLD, pod, uint64(h.Id)))
		if r.IntN(2) == 0 {
			s.answers = append(s.answers, h)
		}
	}
}

// arrives lets something arrive, and returns the holds if any are delivered.
func (s *simulated) arrives(t *testing.T, r *rand.Rand, o *order) *Holds {
	switch {
	case len(s.events) > 0 && r.IntN(2) == 0:
		raw := s.events[0]
		s.events = s.events[1:]
		e := eventtest.Decode(t, raw)
		if s.taken = e.Seq; e.Kind == agentpb.Kind_HOLD {
			s.byEvents[e.Pod] = uint32(e.Span)
		} else {
			delete(s.byEvents, e.Pod)
		}
		return o.takenWith(raw)
	case len(s.answers) > 0 && r.IntN(2) == 0:
		o.granted(s.answers[0], time.Time{})
		s.answers = s.answers[1:]
		n := News{order: o, granted: true}
		o.deliver(&n, time.Time{})
		return n.Holds
	case len(s.lists) > 0:
		o.listed(s.lists[0], time.Time{})
		s.lists = s.lists[1:]
		return o.polled()
	}
	return nil
}

// TestHoldsAgree: in whatever order answers and events arrive, every hold that is delivered is a hold by the events.
// Once all have arrived, all holds are delivered.
func TestHoldsAgree(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		s, o := &simulated{held: map[uint32]*agentpb.HoldInfo{}, byEvents: map[uint32]uint32{}}, newOrder()
		for range 120 {
			s.acts(r)
			for range r.IntN(3) {
				s.agree(t, s.arrives(t, r, o))
			}
		}
		for len(s.events)+len(s.lists)+len(s.answers) > 0 {
			s.agree(t, s.arrives(t, r, o))
		}
		list := &agentpb.ListHoldsResponse{Seq: s.seq}
		for _, h := range s.held {
			list.Holds = append(list.Holds, h)
		}
		o.listed(list, time.Time{})
		if got := o.polled(); len(got.List) != len(s.byEvents) || len(s.byEvents) != len(s.held) {
			t.Fatalf("seed %d: in the end %v are given out, held are %v", seed, ids(got), s.byEvents)
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
		if len(o.begun) != len(s.held) || len(o.known) != len(s.held) {
			t.Fatalf("seed %d: %d holds are remembered as begun and %d as known, of %d", seed, len(o.begun), len(o.known), len(s.held))
		}
	}
}

func (s *simulated) agree(t *testing.T, given *Holds) {
	t.Helper()
	if given == nil {
		return
	}
	for _, h := range given.List {
		if s.byEvents[h.Pod.Id] != h.Id {
			t.Errorf("hold %d of pod %d at event %d is given out after event %d; by the events it is %v", h.Id, h.Pod.Id, h.Seq, s.taken, s.byEvents)
		}
	}
}

// lateAgent holds a pod at event 7, which it sends when the test asks for it.
type lateAgent struct {
	*agent
	send chan struct{}
}

func (a *lateAgent) Watch(r *agentpb.WatchRequest, s grpc.ServerStreamingServer[agentpb.Batch]) error {
	if err := s.Send(&agentpb.Batch{Pods: []*agentpb.Pod{web}, CaughtUp: true, Seq: 6}); err != nil {
		return err
	}
	select {
	case <-a.send:
	case <-s.Context().Done():
		return s.Context().Err()
	}
	if err := s.Send(&agentpb.Batch{Events: [][]byte{holdEvent(7, agentpb.Kind_HOLD, web.Id, 1)}}); err != nil {
		return err
	}
	<-s.Context().Done()
	return nil
}

// TestAnswerWaitsForItsEvent: a request for a hold returns, and the hold is listed, only when its event has come and
// the reader has dealt with it.
func TestAnswerWaitsForItsEvent(t *testing.T) {
	for name, ask := range map[string]func(l *live) (*agentpb.HoldInfo, error){
		"hold": func(l *live) (*agentpb.HoldInfo, error) { return l.Hold(t.Context(), &agentpb.HoldRequest{}) },
		"step": func(l *live) (*agentpb.HoldInfo, error) { return l.Step(t.Context(), &agentpb.StepRequest{}) },
	} {
		t.Run(name, func(t *testing.T) {
			a := &lateAgent{newAgent(1), make(chan struct{})}
			a.seq = 7
			path := filepath.Join(t.TempDir(), "s")
			agenttest.Serve(t, a, path)
			l := open(t, path)
			until(t, l, func(n News) bool { return n.CaughtUp })
			answered := make(chan error, 1)
			go func() {
				h, err := ask(l)
				if err == nil && h.Seq != 7 {
					err = fmt.Errorf("the answer is %v", h)
				}
				answered <- err
			}()
			// The agent lists the hold by now.
			early := until(t, l, func(n News) bool { return n.granted })
			if early.Holds == nil || len(early.Holds.List) != 0 {
				t.Errorf("before the event %v is held", early.Holds)
			}
			close(a.send)
			now := until(t, l, func(n News) bool { return n.seq == 7 })
			if len(now.Holds.List) != 1 {
				t.Errorf("with the event %v is held", now.Holds)
			}
			select {
			case err := <-answered:
				t.Errorf("it is answered, with %v, before the event was dealt with", err)
			default:
			}
			follow(t, l)
			if err := <-answered; err != nil {
				t.Error(err)
			}
		})
	}
}
