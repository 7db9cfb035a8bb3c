//go:build linux

package delve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/podstep/podstep/probes/companion"
	"github.com/podstep/podstep/probes/delve/rescue"
	"github.com/podstep/podstep/probes/inside"
	"github.com/podstep/podstep/probes/inside/reading"
)

// Handler gets what a debugger process reports, on one goroutine, in its order.
type Handler struct {
	// Begun is called before there are records.
	Begun   func(Begun)
	Records func([]reading.Record)
	Held    func(Held)
	Ended   func(inside.Ended)
	Stats   func(Stats)
	Note    func(string)
	// Lost gets how many reports were lost because podstep did not read them.
	Lost func(int)
}

// quiet makes Go's runtime send the debugger process's threads no signals: each would wait for the rescuer, which traces
// them.
const quiet = "GODEBUG=asyncpreemptoff=1"

// Client is podstep's side of a debugger process.
type Client struct {
	h      Handler
	link   *companion.Client[message]
	finder finder

	ready chan Ready
	begun chan Begun

	closing atomic.Bool // the debugger process is to end

	mu      sync.Mutex
	number  uint64
	asked   map[uint64]chan *Answer
	renewed map[uint64]time.Time // holds, by number
}

// Start starts a debugger process: this program in that role, or the command if one is given. Until Begin it stops
// nothing, except a program under a headless Delve.
func Start(ctx context.Context, o Options, command []string, h Handler) (*Client, Ready, error) {
	conn, err := companion.Start(Role, command, quiet)
	if err != nil {
		return nil, Ready{}, err
	}
	c := &Client{
		h: h, finder: finder{options: o}, ready: make(chan Ready, 1), begun: make(chan Begun, 1), asked: map[uint64]chan *Answer{}, renewed: map[uint64]time.Time{},
		link: companion.NewClient[message](conn, "debugger process"),
	}
	c.link.OnLost = h.Lost
	go c.run(o)
	c.link.Send(message{Options: &o})
	select {
	case r := <-c.ready:
		return c, r, c.link.Watch(r.Self, companion.SilentAfter, endWithin)
	case <-c.link.Done():
		return nil, Ready{}, c.Err()
	case <-ctx.Done():
		c.link.Fail()
		return nil, Ready{}, fmt.Errorf("wait for the debugger process: %w", ctx.Err())
	}
}

// run handles the debugger process's messages. If that process ends without having left the kubelet, and its rescuer
// has ended too, run takes away what they left behind.
func (c *Client) run(o Options) {
	c.link.Run(c.handle)
	if o.Remote != "" {
		return
	}
	for began := time.Now(); time.Since(began) < tidyWithin && !c.closing.Load(); time.Sleep(companion.BeatEvery) {
		found, err := rescue.TakeAway(o.PID, o.Started)
		if err == nil && found {
			c.h.Note("podstep has taken back what the debugger process left in the kubelet; the kubelet runs on")
			return
		}
	}
}

// tidyWithin is how long after the end of a debugger process podstep looks whether something of it is left.
const tidyWithin = 20 * time.Second

// Begin makes Delve stop the kubelet at the places of a reading from now on.
func (c *Client) Begin(ctx context.Context, r reading.Plan) (Begun, error) {
	c.link.Send(message{Begin: &r})
	select {
	case b := <-c.begun:
		if b.Err != "" {
			return b, errors.New(b.Err)
		}
		return b, nil
	case <-c.link.Done():
		return Begun{}, c.Err()
	case <-ctx.Done():
		return Begun{}, fmt.Errorf("wait for Delve: %w", ctx.Err())
	}
}

// Want replaces the set of places and pods at which goroutines are held.
func (c *Client) Want(w Wanted) { c.link.Send(message{Wanted: &w}) }

// LetGo ends a hold. Its end is reported when the goroutine goes on.
func (c *Client) LetGo(number uint64) { c.link.Send(message{LetGo: number}) }

// Rule sets the places' rules. A goroutine is held alone at a place only if the place's rule allows it.
func (c *Client) Rule(places []inside.Place) { c.link.Send(message{Rules: places}) }

// Bound sets how long the whole kubelet may stand still for a hold.
func (c *Client) Bound(b Bounds) { c.link.Send(message{Bounds: &b}) }

// Renew makes a hold last for a while longer. The kubelet stands still for that, so it is done only when a third of
// the lease is over.
func (c *Client) Renew(number uint64, _ time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.renewed[number]; !ok || time.Since(at) < renewEvery {
		return
	}
	c.renewed[number] = time.Now()
	c.link.Send(message{Renew: number})
}

// Ask asks Delve a question about a goroutine that is held, and waits for the answer.
func (c *Client) Ask(ctx context.Context, q Question) (*Answer, error) {
	answer := make(chan *Answer, 1)
	c.mu.Lock()
	c.number++
	q.Number = c.number
	c.asked[q.Number] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.asked, q.Number)
		c.mu.Unlock()
	}()
	c.link.Send(message{Look: &q})
	select {
	case a := <-answer:
		if a.Err != "" {
			return nil, errors.New(a.Err)
		}
		return a, nil
	case <-c.link.Done():
		return nil, c.Err()
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for Delve: %w", ctx.Err())
	}
}

// Step makes a held goroutine stop again at a line after it is let go. LineNone takes that back.
func (c *Client) Step(ctx context.Context, goroutine uint64, how LineStep) error {
	_, err := c.Ask(ctx, Question{Goroutine: goroutine, Line: how})
	return err
}

// Find looks for a place in the kubelet's code.
func (c *Client) Find(at string) ([]Found, error) { return c.finder.find(at) }

// renewEvery is how often a hold that is still wanted is renewed.
const renewEvery = lease / 3

// Done is closed when the debugger process has ended, or is about to.
func (c *Client) Done() <-chan struct{} { return c.link.Done() }

// Err returns the reason why the debugger process has ended.
func (c *Client) Err() error { return c.link.Err() }

func (c *Client) handle(m *message) {
	switch {
	case m.Ready != nil:
		c.ready <- *m.Ready
	case m.Begun != nil:
		c.h.Begun(*m.Begun)
		c.begun <- *m.Begun
	case m.Failed != "": // it has left the kubelet, that has ended, or the rescuer is about to end it
		c.link.Blame(errors.New(m.Failed))
		c.link.Fail()
	case m.Records != nil:
		c.h.Records(m.Records)
	case m.Held != nil:
		c.mu.Lock()
		c.renewed[m.Held.Hold] = time.Now()
		c.mu.Unlock()
		c.h.Held(*m.Held)
	case m.Ended != nil:
		c.mu.Lock()
		delete(c.renewed, m.Ended.Hold)
		c.mu.Unlock()
		c.h.Ended(*m.Ended)
	case m.Stats != nil:
		c.h.Stats(*m.Stats)
	case m.Note != "":
		c.h.Note(m.Note)
	case m.Looked != nil:
		c.mu.Lock()
		answer := c.asked[m.Looked.Number]
		delete(c.asked, m.Looked.Number)
		c.mu.Unlock()
		if answer != nil {
			answer <- m.Looked
		}
	}
}

// endWithin is how long the debugger process may go on after the link has ended, to take its breakpoints and the net back.
// Then it is killed, and its rescuer does that.
const endWithin = time.Minute

// leaveWithin is how long the debugger process may take to take its breakpoints back.
const leaveWithin = 20 * time.Second

// Close makes Delve leave the kubelet, with no breakpoint in it. It returns when Delve has left.
func (c *Client) Close() error {
	defer c.finder.close()
	c.closing.Store(true)
	c.link.Send(message{Leave: true})
	select {
	case <-c.link.Done():
		c.link.Fail()
		return nil
	case <-time.After(leaveWithin):
		return fmt.Errorf("wait for Delve: it has not left the kubelet within %v; its process goes on trying", leaveWithin)
	}
}
