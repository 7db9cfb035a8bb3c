package relayproc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podstep/podstep/probes/companion"
	"github.com/podstep/podstep/probes/cri/relay"
	"github.com/podstep/podstep/probes/cri/takeover"
)

// Client is podstep's side of a relay process.
type Client struct {
	h     Handler
	link  *companion.Client[message]
	calls map[uint64]*call // used by run alone

	mu     sync.Mutex
	armed  chan struct{} // gets a token when have changes
	number uint64        // of the last message to arm, and the last one that was answered
	have   uint64
	left   *Left
	unused string        // why the path is given back although podstep did not ask for that
	news   chan struct{} // gets a token when left is set
	ready  chan answer
	done   chan struct{} // closed when the link has ended
}

// call is a call that was reported, with the function that ends its gate.
type call struct {
	*relay.Call
	cancel context.CancelFunc
}

type answer struct {
	ready *Ready
	err   error
}

// Handler gets what a relay process reports.
type Handler struct {
	// Watcher gets the kubelet's calls, in their order, on one goroutine. A gate that its Request returns is called
	// on another one, with a context in which Looked works.
	Watcher relay.Watcher
	// Note is called with what happens to the runtime's socket. Lost is called with how many calls could not be
	// reported.
	Note func(takeover.Note)
	Lost func(calls int)
	// Count, if not nil, is called with what the relay process has counted, twice a second if that is something.
	Count func(*Counts)
}

// leaveWithin is how long Start waits for a relay process that is giving the path back.
const leaveWithin = 5 * time.Second

// Start takes a path over by a relay process: the one that is there already, or one that command starts. An empty
// command is this program with "relay". Start returns when a call of the kubelet went through the process and was
// answered. If it fails, all is as before.
func Start(ctx context.Context, o Options, command []string, h Handler) (*Client, *Ready, error) {
	for began := time.Now(); ; {
		c, ready, err := start(ctx, o, command, h)
		var f *failure
		if err == nil || ctx.Err() != nil || !errors.As(err, &f) || !f.Leaves || time.Since(began) > leaveWithin {
			return c, ready, err
		}
		select {
		case <-time.After(companion.BeatEvery / 5):
		case <-ctx.Done():
			return nil, nil, fmt.Errorf("wait for the relay process that leaves: %w", ctx.Err())
		}
	}
}

func start(ctx context.Context, o Options, command []string, h Handler) (*Client, *Ready, error) {
	conn, err := dialLink(o)
	if err != nil {
		if conn, err = companion.Start("relay", command); err != nil {
			return nil, nil, err
		}
	}
	c := newClient(conn, h)
	ready, err := c.begin(ctx, o)
	if err != nil {
		c.abandon()
		return nil, nil, &startError{c.PID(), err}
	}
	return c, ready, nil
}

// startError is an error of Start, with the relay process that could have changed something.
type startError struct {
	pid int
	error
}

func (e *startError) Unwrap() error { return e.error }

// PIDOf returns the pid of the relay process that Start had when it failed with err. 0: none has changed anything.
func PIDOf(err error) int {
	var e *startError
	if errors.As(err, &e) {
		return e.pid
	}
	return 0
}

func newClient(conn *net.UnixConn, h Handler) *Client {
	c := &Client{
		h: h, link: companion.NewClient[message](conn, "relay process"), calls: map[uint64]*call{},
		ready: make(chan answer, 1), armed: make(chan struct{}, 1), news: make(chan struct{}, 1), done: make(chan struct{}),
	}
	c.link.OnLost = h.Lost
	go c.run()
	return c
}

// begin sends the options, and waits until the path is taken.
func (c *Client) begin(ctx context.Context, o Options) (*Ready, error) {
	c.link.Send(message{Options: &o})
	select {
	case a := <-c.ready:
		return a.ready, a.err
	case <-c.done:
		select {
		case a := <-c.ready:
			return a.ready, a.err
		default:
		}
		return nil, ErrEnded
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the relay process: %w", ctx.Err())
	}
}

// ErrEnded is the error of Start if the relay process has ended, and has not said why: it was killed, or hung and was
// ended. It may have left the path as it was then.
var ErrEnded = errors.New("the relay process has ended before a call of the kubelet went through it")

// hangsAfter is the silence of a relay process after which this one ends it. The guard of the relay process is about as
// quick, if it still works. takeWithin is how long it may be silent while it takes the path: on a slow machine its guard
// takes most of that to start.
const (
	hangsAfter = silentAfter
	takeWithin = 40 * time.Second
)

// abandon makes the relay process give all back, if it is there.
func (c *Client) abandon() {
	c.link.Send(message{Leave: true})
	select {
	case <-c.done:
	case <-time.After(leaveWithin):
	}
	c.link.Fail()
}

// Done is closed when the relay process has ended, or has hung up.
func (c *Client) Done() <-chan struct{} { return c.done }

// run handles what the relay process sends.
func (c *Client) run() {
	defer close(c.done)
	c.link.Run(c.handle)
	c.endAll()
}

func (c *Client) handle(m *message) {
	if m.Counts != nil && c.h.Count != nil {
		c.h.Count(m.Counts)
	}
	switch {
	case m.Begin != nil:
		c.began(m.Begin)
	case m.End != nil:
		c.ended(m.End)
	case m.PID != 0:
		// If it cannot be opened, it has ended. The end of a relay process that goes on with its last calls is its own.
		_ = c.link.Watch(m.PID, takeWithin, 0)
	case m.Taken:
		c.link.Expect(hangsAfter)
	case m.Ready != nil:
		c.answer(answer{ready: m.Ready})
	case m.Failed != nil:
		c.answer(answer{err: m.Failed})
	case m.Armed != 0:
		c.setArmed(m.Armed)
	case m.Note != nil:
		c.h.Note(m.Note.note())
	case m.Unused != "":
		c.mu.Lock()
		c.unused = m.Unused
		c.mu.Unlock()
	case m.Left != nil:
		c.mu.Lock()
		c.left = m.Left
		c.mu.Unlock()
		offer(c.news)
	}
}

func (c *Client) answer(a answer) {
	select {
	case c.ready <- a:
	default:
	}
}

func offer(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// looked is the key of the function that Looked calls.
type looked struct{}

// Looked reports that the call of a gate's context was looked at. From now on the relay process waits for the
// verdict, however long it takes.
func Looked(ctx context.Context) {
	if f, ok := ctx.Value(looked{}).(func()); ok {
		f()
	}
}

// began reports a call to the watcher. A call that does not wait in the relay process cannot be stopped any more,
// whatever the watcher says.
func (c *Client) began(b *begin) {
	k := &relay.Call{Method: b.Method, Began: b.Began.Time(), Deadline: b.Deadline.Time()}
	ctx, cancel := k.Context(context.Background())
	c.calls[b.ID] = &call{k, cancel}
	gate := c.h.Watcher.Request(k, b.Message)
	c.h.Watcher.Passed()
	switch {
	case !b.Waits && gate == nil:
	case !b.Waits:
		cancel()
		go func() { _ = gate(ctx) }()
	case gate == nil:
		c.decide(verdict{ID: b.ID})
	default:
		ctx = context.WithValue(ctx, looked{}, func() { c.decide(verdict{ID: b.ID, Looked: true}) })
		go func() {
			st := status.Convert(gate(ctx))
			c.decide(verdict{ID: b.ID, Code: st.Code(), Message: st.Message()})
		}()
	}
}

func (c *Client) decide(v verdict) { c.link.Send(message{Verdict: &v}) }

// ended reports the end of a call, which also ends its gate.
func (c *Client) ended(e *end) {
	k := c.calls[e.ID]
	if k == nil {
		return
	}
	delete(c.calls, e.ID)
	k.cancel()
	if e.Answer == nil && !e.None {
		e.Answer = []byte{} // gob does not tell an empty one from none
	}
	c.h.Watcher.End(k.Call, e.Answer, status.New(e.Code, e.Message), e.At.Time())
}

// endAll ends the calls whose end will not be reported any more.
func (c *Client) endAll() {
	for id, k := range c.calls {
		delete(c.calls, id)
		k.cancel()
		c.h.Watcher.End(k.Call, nil, status.New(codes.Unknown, "the relay process is gone; how the call ended is not known"), time.Now())
	}
}

// Arm calls wanted, and makes calls wait for the watcher's gates from now on if it returns true, else not. Arm
// returns when the relay process knows, or does not answer; if no call is to wait, at once.
func (c *Client) Arm(wanted func() bool) {
	c.mu.Lock()
	wait := wanted()
	c.number++
	number := c.number
	c.link.Send(message{Arm: &arm{number, wait}})
	c.mu.Unlock()
	if !wait {
		return
	}
	late := time.After(lookWithin)
	for !c.hasArmed(number) {
		select {
		case <-c.armed:
		case <-late:
			return
		case <-c.done:
			return
		}
	}
	offer(c.armed) // for the next caller that waits
}

func (c *Client) hasArmed(number uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.have >= number
}

func (c *Client) setArmed(number uint64) {
	c.mu.Lock()
	c.have = max(c.have, number)
	c.mu.Unlock()
	offer(c.armed)
}

// Leave gives the path back. It reports the calls that are still under way each time that they change, until there
// are none, or ctx ends. The relay process ends by itself after the last call. The error is why the path could not
// be given back.
func (c *Client) Leave(ctx context.Context, report func(*Left)) (err error) {
	c.link.Send(message{Leave: true})
	defer c.link.Fail()
	for {
		select {
		case <-c.news:
		case <-c.done:
			return err
		case <-ctx.Done():
			return err
		}
		c.mu.Lock()
		left := c.left
		c.mu.Unlock()
		if left.Err != "" {
			err = errors.New(left.Err)
		}
		report(left)
	}
}

// PID returns the pid of the relay process.
func (c *Client) PID() int { return c.link.PID() }

// Unused returns why the relay process has given the path back by itself; "" if it has not.
func (c *Client) Unused() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.unused
}
