package holdproc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/podstep/podstep/probes/companion"
	"github.com/podstep/podstep/probes/inside"
	"github.com/podstep/podstep/probes/inside/park"
)

// Role is the argument by which this program is the hold process.
const Role = "holder"

// Handler gets what a hold process reports, on one goroutine, in its order.
type Handler struct {
	Held    func(inside.Held)
	Refused func(inside.Refused)
	Ended   func(inside.Ended)
	// Failed gets the reason why the hold process holds nothing any more: the program has ended.
	Failed func(error)
	// Lost gets how many reports were lost because podstep did not read them.
	Lost func(int)
}

// Client is podstep's side of a hold process.
type Client struct {
	h    Handler
	link *companion.Client[message]

	ready    chan answer
	answered bool // of run alone

	version string // of Go

	mu      sync.Mutex
	number  uint64
	waiting map[uint64]chan *armed // by number
}

type answer struct {
	ready *ready
	err   error
}

// Start starts a hold process for a kubelet: this program in that role, or the command if
// one is given. Nothing is traced until places are armed.
func Start(ctx context.Context, o Options, command []string, h Handler) (*Client, error) {
	conn, err := companion.Start(Role, command)
	if err != nil {
		return nil, err
	}
	c := &Client{h: h, link: companion.NewClient[message](conn, "hold process"), ready: make(chan answer, 1), waiting: map[uint64]chan *armed{}}
	c.link.OnLost = h.Lost
	go c.run()
	c.link.Send(message{Options: &o})
	select {
	case a := <-c.ready:
		if err = a.err; err == nil {
			c.version = a.ready.Go
			err = c.link.Watch(a.ready.PID, companion.SilentAfter, endWithin)
		}
	case <-ctx.Done():
		err = fmt.Errorf("wait for the hold process: %w", ctx.Err())
	}
	if err != nil {
		c.link.Fail()
		return nil, err
	}
	return c, nil
}

// PID returns the hold process's number.
func (c *Client) PID() int { return c.link.PID() }

// Go returns the version of Go by which the kubelet was built.
func (c *Client) Go() string { return c.version }

// Done is closed when the hold process has ended. Then nothing is held any more, or only until its lease ends.
func (c *Client) Done() <-chan struct{} { return c.link.Done() }

// Err returns the reason why the hold process has ended.
func (c *Client) Err() error { return c.link.Err() }

// run handles what the hold process sends.
func (c *Client) run() {
	c.link.Run(c.handle)
	c.answer(answer{err: c.link.Err()})
}

// answer handles the answer to Options, which is the first message. It reports false for all later messages.
func (c *Client) answer(a answer) (first bool) {
	if c.answered {
		return false
	}
	c.answered = true
	c.ready <- a
	return true
}

func (c *Client) handle(m *message) {
	switch {
	case m.Ready != nil:
		c.answer(answer{ready: m.Ready})
	case m.Failed != "":
		if err := errors.New(m.Failed); !c.answer(answer{err: err}) && c.h.Failed != nil {
			c.h.Failed(err)
		}
	case m.Armed != nil:
		c.mu.Lock()
		waiting := c.waiting[m.Armed.Number]
		delete(c.waiting, m.Armed.Number)
		c.mu.Unlock()
		if waiting != nil {
			waiting <- m.Armed
		}
	case m.Held != nil && c.h.Held != nil:
		c.h.Held(*m.Held)
	case m.Refused != nil && c.h.Refused != nil:
		c.h.Refused(*m.Refused)
	case m.Ended != nil && c.h.Ended != nil:
		c.h.Ended(*m.Ended)
	}
}

// Arm makes the hold process hold goroutines at these places, and at no others. It returns when the kubelet's threads
// are traced. Without places it returns when they are not traced any more, unless goroutines are held. refused has,
// by address, the places at which nothing can be held. Arm fails if nothing can be held at all, for instance because
// another process traces the kubelet.
func (c *Client) Arm(ctx context.Context, places []inside.Place) (refused map[uint64]park.RefusedError, err error) {
	a, err := c.arm(ctx, places)
	if err != nil {
		return nil, fmt.Errorf("arm places in the kubelet: %w", err)
	}
	return a.Refused, nil
}

// arm sends the places, and waits for the answer.
func (c *Client) arm(ctx context.Context, places []inside.Place) (*armed, error) {
	waiting := make(chan *armed, 1)
	c.mu.Lock()
	c.number++
	number := c.number
	c.waiting[number] = waiting
	c.link.Send(message{Arm: &arm{number, places}})
	c.mu.Unlock()
	select {
	case a := <-waiting:
		if a.Err != "" {
			return nil, errors.New(a.Err)
		}
		return a, nil
	case <-c.link.Done():
		return nil, errors.New("the hold process has ended")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Disarm stops holding goroutines, and returns for how long the kubelet's threads have stood still for the hold
// process since it was started.
func (c *Client) Disarm(ctx context.Context) (Stats, error) {
	a, err := c.arm(ctx, nil)
	if err != nil {
		return Stats{}, fmt.Errorf("disarm places in the kubelet: %w", err)
	}
	return a.Stats, nil
}

// LetGo ends a hold. Its end is reported when the goroutine has gone on.
func (c *Client) LetGo(hold uint64) { c.link.Send(message{LetGo: hold}) }

// Renew makes a hold last for the lease from now on.
func (c *Client) Renew(hold uint64, lease time.Duration) {
	c.link.Send(message{Renew: &renewal{hold, lease}})
}

// Close lets all goroutines go and ends the hold process. It returns when that has ended.
func (c *Client) Close() {
	c.link.Send(message{Leave: true})
	select {
	case <-c.link.Done():
	case <-time.After(endWithin):
		c.link.Kill()
		<-c.link.Done()
	}
	c.link.Fail()
}

// endWithin is how long a hold process may take to end.
const endWithin = 5 * time.Second
