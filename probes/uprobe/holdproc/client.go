package holdproc

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/companion"
	"github.com/podstep/podstep/probes/uprobe/park"
)

// Role is the argument by which this program is the hold process.
const Role = "holder"

// Handler gets what a hold process reports, on one goroutine, in its order.
type Handler struct {
	Held    func(Held)
	Refused func(Refused)
	Ended   func(Ended)
	// Failed gets why the hold process holds nothing any more: the program has ended.
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

	mu      sync.Mutex
	process *os.File // a pidfd
	pid     int
	version string
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
	c := &Client{h: h, link: companion.NewClient(newLink(conn), "hold process"), ready: make(chan answer, 1), waiting: map[uint64]chan *armed{}}
	go c.run()
	c.link.Send(message{Options: &o})
	select {
	case a := <-c.ready:
		if a.err == nil {
			err = c.remember(a.ready)
		} else {
			err = a.err
		}
	case <-ctx.Done():
		err = fmt.Errorf("wait for the hold process: %w", ctx.Err())
	}
	if err != nil {
		c.link.Fail()
		return nil, err
	}
	go c.watch()
	return c, nil
}

// remember opens the process, so that it cannot be mistaken for another one later.
func (c *Client) remember(r *ready) error {
	fd, err := unix.PidfdOpen(r.PID, 0)
	if err != nil {
		return fmt.Errorf("open the hold process: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.process, c.pid, c.version = os.NewFile(uintptr(fd), fmt.Sprintf("process %d", r.PID)), r.PID, r.Go
	return nil
}

// PID is the hold process.
func (c *Client) PID() int { return c.pid }

// Go is the version of Go by which the kubelet was built.
func (c *Client) Go() string { return c.version }

// Done is closed when the hold process has ended: then nothing is held any more, or only
// until its lease ends.
func (c *Client) Done() <-chan struct{} { return c.link.Done() }

// watch ends a hold process that hangs: a thread of the kubelet that gets a signal waits
// for it.
func (c *Client) watch() {
	tick := time.NewTicker(companion.BeatEvery)
	defer tick.Stop()
	for {
		select {
		case <-c.link.Done():
			c.mu.Lock()
			_ = c.process.Close()
			c.mu.Unlock()
			return
		case <-tick.C:
		}
		if c.link.Silent() > companion.SilentAfter+companion.BeatEvery {
			c.link.Blame(fmt.Errorf("the hold process was silent for %v, and was ended", companion.SilentAfter))
			c.kill()
		}
	}
}

func (c *Client) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = unix.PidfdSendSignal(int(c.process.Fd()), unix.SIGKILL, nil, 0)
	c.link.Fail()
}

// Err is why the hold process has ended.
func (c *Client) Err() error { return c.link.Err() }

// run handles what the hold process sends.
func (c *Client) run() {
	c.link.Run(c.handle)
	c.answer(answer{err: c.link.Err()})
}

// answer is the answer to Options, the first message; there is one.
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
	case m.Lost > 0 && c.h.Lost != nil:
		c.h.Lost(m.Lost)
	}
}

// Arm has goroutines be held at these places from now on, and at no others. It returns
// when the kubelet's threads are traced; without places, when they are not any more,
// unless goroutines are held. refused are the places, by address, at which nothing can be
// held. The error is why nothing can be held at all, such as another tracer.
func (c *Client) Arm(ctx context.Context, places []Place) (refused map[uint64]park.RefusedError, err error) {
	a, err := c.arm(ctx, places)
	if err != nil {
		return nil, fmt.Errorf("arm places in the kubelet: %w", err)
	}
	return a.Refused, nil
}

// arm sends the places, and waits for the answer.
func (c *Client) arm(ctx context.Context, places []Place) (*armed, error) {
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

// Disarm has no more goroutines be held, and returns how long the kubelet's threads have
// stood still for it since the hold process was started.
func (c *Client) Disarm(ctx context.Context) (Stats, error) {
	a, err := c.arm(ctx, nil)
	if err != nil {
		return Stats{}, fmt.Errorf("disarm places in the kubelet: %w", err)
	}
	return a.Stats, nil
}

// LetGo ends a hold. Its end is reported when the goroutine has gone on.
func (c *Client) LetGo(hold uint64) { c.link.Send(message{LetGo: hold}) }

// Renew has a hold last for the lease from now on.
func (c *Client) Renew(hold uint64, lease time.Duration) {
	c.link.Send(message{Renew: &renewal{hold, lease}})
}

// Close has the hold process let all goroutines go, and end. It returns when it has.
func (c *Client) Close() {
	c.link.Send(message{Leave: true})
	select {
	case <-c.link.Done():
	case <-time.After(endWithin):
		c.kill()
		<-c.link.Done()
	}
	c.link.Fail()
}

// endWithin is how long a hold process may take to end.
const endWithin = 5 * time.Second
