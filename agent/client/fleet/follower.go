package fleet

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/client/stream"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/wire"
)

// timing is how long a follower waits for what.
type timing struct {
	// answer is how long an agent may take to answer.
	answer time.Duration
	// After a connection broke, the follower tries again after firstRetry, and then after twice as long each time, at
	// most lastRetry.
	firstRetry, lastRetry time.Duration
	// The follower asks for the pods soon after an event, but no more often than atMost, and without an event at least
	// every atLeast.
	atMost, atLeast time.Duration
	// second is the time for which budget holds.
	second time.Duration
	// budget is how many bytes of events the follower reads in a second. An agent for whose events there is no room
	// drops them, and no kubelet waits.
	budget int
}

var usual = timing{
	answer: Patience, firstRetry: time.Second / 2, lastRetry: 15 * time.Second,
	atMost: time.Second / 4, atLeast: 2 * time.Second, second: time.Second, budget: 1 << 20,
}

// follower follows one node.
type follower struct {
	timing
	fleet *Fleet
	node  Node
	index int
	// lived: the last connection brought answers.
	lived bool
}

// run follows the node until ctx ends.
func (f *follower) run(ctx context.Context) {
	for wait := f.firstRetry; ; wait = min(2*wait, f.lastRetry) {
		c, err := f.node.DialWithin(ctx, f.answer)
		if err == nil {
			f.lived = false
			err = f.serve(ctx, c.Reader())
			c.Close()
			if f.lived {
				wait = f.firstRetry
			}
		}
		if ctx.Err() != nil {
			return
		}
		f.update(func(s *Status) { s.State, s.Why = stateOf(err), err })
		if pause(ctx, wait) != nil {
			return
		}
	}
}

func (f *follower) update(change func(*Status)) { f.fleet.update(f.index, change) }

// errEnded ends a connection when the agent has ended in good order.
var errEnded = reason.New("the agent has ended", "代理已退出")

// serve follows one agent until the connection breaks. It keeps reading while a question is under way, since an agent
// that cannot send need not answer.
func (f *follower) serve(ctx context.Context, c *client.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w, err := c.Watch(ctx, &agentpb.WatchRequest{})
	if err != nil {
		return err
	}
	r := &reading{follower: f, arrivals: stream.Receive(ctx, w.NextRaw), answers: make(chan answer, 1)}
	first, err := f.pods(ctx, c)
	if err != nil {
		return err
	}
	f.lived = true
	f.update(func(s *Status) {
		if another(s.About, c.About()) {
			s.Agents++
		}
		s.Name, s.About, s.State, s.Why, s.Pods, s.At = f.node.NameOf(c.About().GetNode()), c.About(), Live, nil, first, time.Now()
	})
	r.asked = time.Now()
	return r.run(ctx, c)
}

// pods asks what the pods are doing.
func (f *follower) pods(ctx context.Context, c *client.Reader) ([]*agentpb.PodState, error) {
	var answer *agentpb.PodsResponse
	err := f.node.limit(ctx, f.answer, func(ctx context.Context) (err error) {
		answer, err = c.Pods(ctx, &agentpb.PodsRequest{})
		return err
	})
	return answer.GetPods(), err
}

// reading is a connection that is being read.
type reading struct {
	*follower
	arrivals <-chan stream.Arrival[*agentpb.Batch]
	answers  chan answer

	asking  bool      // a question is under way
	asked   time.Time // when the last one was begun
	changed bool      // something has happened since
	stale   bool      // what the agent states about itself may have changed
	read    int       // the bytes of this second
	flooded bool      // they have been more than the budget
}

// answer is what the agent has answered to a question for its pods, and for what it states about itself.
type answer struct {
	pods  []*agentpb.PodState
	about *agentpb.InfoResponse // nil: as before
	err   error
}

func (r *reading) run(ctx context.Context, c *client.Reader) error {
	tick := time.NewTicker(r.atMost)
	defer tick.Stop()
	second := time.NewTicker(r.second)
	defer second.Stop()
	for {
		from := r.arrivals
		if r.read > r.budget {
			from = nil
		}
		select {
		case a := <-from:
			if errors.Is(a.Err, io.EOF) {
				return errEnded
			}
			if a.Err != nil {
				return a.Err
			}
			r.take(a.Item)
		case a := <-r.answers:
			if a.err != nil {
				return a.err
			}
			r.asking = false
			r.update(func(s *Status) {
				s.Pods, s.At = a.pods, time.Now()
				if a.about != nil {
					s.About = a.about
				}
			})
		case <-second.C:
			r.endSecond()
		case <-tick.C:
			r.ask(ctx, c)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take counts a batch.
func (r *reading) take(b *agentpb.Batch) {
	size := 0
	for _, raw := range b.GetEvents() {
		size += len(raw)
		if h, err := wire.ReadHeader(raw); err == nil && h.ReportsState() {
			r.stale = true
		}
	}
	r.read += size
	r.changed = r.changed || len(b.GetEvents()) > 0
	r.flooded = r.flooded || r.read > r.budget
	r.update(func(s *Status) {
		s.Events, s.Bytes = s.Events+uint64(len(b.GetEvents())), s.Bytes+uint64(size)
		if r.flooded {
			s.State = Flooding
		}
	})
}

// endSecond ends the flood if the last second had none.
func (r *reading) endSecond() {
	if r.flooded && r.read <= r.budget {
		r.flooded = false
		r.update(func(s *Status) { s.State = Live })
	}
	r.read = 0
}

// ask asks for the pods if it is time.
func (r *reading) ask(ctx context.Context, c *client.Reader) {
	if r.asking || !r.changed && time.Since(r.asked) < r.atLeast {
		return
	}
	about := r.stale
	r.asking, r.changed, r.stale, r.asked = true, false, false, time.Now()
	go func() {
		var a answer
		if a.pods, a.err = r.pods(ctx, c); a.err == nil && about {
			a.err = r.node.limit(ctx, r.answer, func(ctx context.Context) (err error) {
				a.about, err = c.Info(ctx, &agentpb.InfoRequest{})
				return err
			})
		}
		r.answers <- a
	}()
}
