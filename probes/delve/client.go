//go:build linux

package delve

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/podstep/podstep/probes/companion"
	"github.com/podstep/podstep/probes/uprobe"
	"github.com/podstep/podstep/probes/uprobe/holdproc"
)

// Handler gets what a debugger process reports, on one goroutine, in its order.
type Handler struct {
	// Begun is called before there are records.
	Begun   func(Begun)
	Records func([]uprobe.Record)
	Held    func(Held)
	Ended   func(holdproc.Ended)
	Stats   func(Stats)
	Note    func(string)
	// Lost gets how many reports were lost because podstep did not read them.
	Lost func(int)
}

// Client is podstep's side of a debugger process.
type Client struct {
	h    Handler
	link *companion.Client[message]

	ready chan Ready
	begun chan Begun

	mu      sync.Mutex
	number  uint64
	asked   map[uint64]chan *Answer
	renewed map[uint64]time.Time // holds, by number
}

// Start starts a debugger process: this program in that role, or the command if one is
// given. Nothing is stopped until Begin, but a program under a headless Delve.
func Start(ctx context.Context, o Options, command []string, h Handler) (*Client, Ready, error) {
	conn, err := companion.Start(Role, command)
	if err != nil {
		return nil, Ready{}, err
	}
	c := &Client{
		h: h, ready: make(chan Ready, 1), begun: make(chan Begun, 1), asked: map[uint64]chan *Answer{}, renewed: map[uint64]time.Time{},
		link: companion.NewClient(newLink(conn), "debugger process"),
	}
	go c.link.Run(c.handle)
	c.link.Send(message{Options: &o})
	select {
	case r := <-c.ready:
		return c, r, nil
	case <-c.link.Done():
		return nil, Ready{}, c.Err()
	case <-ctx.Done():
		c.link.Fail()
		return nil, Ready{}, fmt.Errorf("wait for the debugger process: %w", ctx.Err())
	}
}

// Begin has Delve stop the kubelet at the places of a reading from now on.
func (c *Client) Begin(ctx context.Context, r uprobe.Reading) (Begun, error) {
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

// Want has goroutines be held there from now on, and nowhere else.
func (c *Client) Want(w Wanted) { c.link.Send(message{Wanted: &w}) }

// LetGo ends a hold. Its end is reported when the goroutine goes on.
func (c *Client) LetGo(number uint64) { c.link.Send(message{LetGo: number}) }

// Rule has goroutines be held at these places only if the places' rules allow it.
func (c *Client) Rule(places []holdproc.Place) { c.link.Send(message{Rules: places}) }

// Renew has a hold last for a while longer. The kubelet stands still for it, so it is done
// only when the hold would end soon.
func (c *Client) Renew(number uint64, _ time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.renewed[number]; !ok || time.Since(at) < renewEvery {
		return
	}
	c.renewed[number] = time.Now()
	c.link.Send(message{Renew: number})
}

// Ask has Delve answer a question about a goroutine that is held.
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

// Step has a held goroutine be held again at a line when it is let go; LineNone takes that back.
func (c *Client) Step(ctx context.Context, goroutine uint64, how LineStep) error {
	_, err := c.Ask(ctx, Question{Goroutine: goroutine, Line: how})
	return err
}

// Find looks for a place in the kubelet's code.
func (c *Client) Find(ctx context.Context, at string) ([]Found, error) {
	a, err := c.Ask(ctx, Question{Find: at})
	if err != nil {
		return nil, err
	}
	return a.Found, nil
}

// renewEvery is how often a hold is renewed that somebody still wants.
const renewEvery = lease / 3

// Done is closed when the debugger process has ended, or is about to.
func (c *Client) Done() <-chan struct{} { return c.link.Done() }

// Err is why the debugger process has ended.
func (c *Client) Err() error { return c.link.Err() }

func (c *Client) handle(m *message) {
	switch {
	case m.Ready != nil:
		c.ready <- *m.Ready
	case m.Begun != nil:
		c.h.Begun(*m.Begun)
		c.begun <- *m.Begun
	case m.Failed != "": // it has left the kubelet, or that has ended
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
	case m.Lost > 0:
		c.h.Lost(m.Lost)
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

// leaveWithin is how long the debugger process may take to take its breakpoints back.
const leaveWithin = 20 * time.Second

// Close has Delve leave the kubelet, with no breakpoint in it. It returns when it has.
func (c *Client) Close() error {
	c.link.Send(message{Leave: true})
	select {
	case <-c.link.Done():
		c.link.Fail()
		return nil
	case <-time.After(leaveWithin):
		return fmt.Errorf("wait for Delve: it has not left the kubelet within %v; its process goes on trying", leaveWithin)
	}
}
