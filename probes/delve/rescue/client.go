//go:build linux && amd64

package rescue

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/podstep/podstep/probes/companion"
)

// Client is the debugger process's side of a rescuer. When a rescuer dies, another one is started: as long as the net
// is there, no breakpoint ends the kubelet.
type Client struct {
	options Options
	ends    Ends

	mu      sync.Mutex
	link    *companion.Client[message]
	added   chan added
	number  uint64
	covered map[uint64]bool // the places that are in the net, which outlives rescuers
	left    bool
}

// Start starts a rescuer for a process, and returns when there is a net below the process. No other process may trace
// it at that time.
func Start(ctx context.Context, o Options, ends Ends) (*Client, error) {
	o.Debugger = os.Getpid()
	c := &Client{options: o, ends: ends, covered: map[uint64]bool{}}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.start(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// endWithin is how long a rescuer may go on after the link has ended, to take the net away.
const endWithin = 2 * removeWithin

// start starts a rescuer. The caller has mu.
func (c *Client) start(ctx context.Context) error {
	conn, err := companion.Start(Role, nil)
	if err != nil {
		return err
	}
	ready, reply := make(chan error, 1), make(chan added, 1)
	var pid int
	link := companion.NewClient[message](conn, "rescuer process")
	go link.Run(func(m *message) {
		switch {
		case m.Ready != 0:
			pid = m.Ready
			ready <- nil
		case m.Failed != "":
			ready <- errors.New(m.Failed)
		case m.Added != nil:
			reply <- *m.Added
		case m.Ends != "":
			c.ends(m.Ends)
		}
	})
	link.Send(message{Options: &c.options})
	select {
	case err = <-ready:
	case <-link.Done():
		err = link.Err()
	case <-ctx.Done():
		err = fmt.Errorf("wait for the rescuer process: %w", ctx.Err())
	}
	if err != nil {
		link.Fail()
		return err
	}
	if err := link.Watch(pid, companion.SilentAfter, endWithin); err != nil {
		link.Fail()
		return err
	}
	c.link, c.added = link, reply
	return nil
}

// ErrLeft is the error of Again after Leave.
var ErrLeft = errors.New("the net is taken away")

// Done is closed when the present rescuer has ended.
func (c *Client) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.link.Done()
}

// Again starts another rescuer after one has ended, and gives it the places. The kubelet may be traced meanwhile: the
// net is there already.
func (c *Client) Again(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left {
		return ErrLeft
	}
	return c.start(ctx)
}

// Add puts places into the net, and returns when they are in it. Breakpoints may be set there from then on. It fails
// for instructions of one byte, unless short allows them: see ADR 23.
func (c *Client) Add(ctx context.Context, addresses []uint64, short bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	// The kubelet stands still while a caller waits, so nobody is asked about places that are in the net.
	if !slices.ContainsFunc(addresses, func(at uint64) bool { return !c.covered[at] }) {
		return nil
	}
	if err := c.ask(ctx, addresses, short); err != nil {
		return err
	}
	for _, at := range addresses {
		c.covered[at] = true
	}
	return nil
}

// ask sends places to the rescuer, or to the next one if it dies, and waits for the answer. The caller has mu.
func (c *Client) ask(ctx context.Context, addresses []uint64, short bool) error {
	c.number++
	m := message{Add: &places{c.number, addresses, short}}
	c.link.Send(m)
	for {
		select {
		case a := <-c.added:
			switch {
			case a.Number != c.number:
			case a.Err != "":
				return errors.New(a.Err)
			default:
				return nil
			}
		case <-c.link.Done():
			if err := c.start(ctx); err != nil {
				return err
			}
			c.link.Send(m)
		case <-ctx.Done():
			return fmt.Errorf("wait for the rescuer process: %w", ctx.Err())
		}
	}
}

// Leave makes the rescuer take the net away. The caller has removed all breakpoints, and traces the process no more.
// Leave returns when the rescuer has ended.
func (c *Client) Leave(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = true
	c.link.Send(message{Leave: true})
	select {
	case <-c.link.Done():
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the rescuer process: %w", ctx.Err())
	}
}
