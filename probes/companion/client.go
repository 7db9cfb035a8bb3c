package companion

import (
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Client is the side of a link that has started the companion. It keeps the reason why the link has ended.
type Client[M any] struct {
	*Duplex[M]
	who  string
	done chan struct{}

	mu      sync.Mutex
	err     error
	pid     int
	process *Process      // nil before Watch, and if there was none to open
	silent  time.Duration // how long the companion may be silent
}

// NewClient makes a client of a link to a companion. Errors name the companion by who.
func NewClient[M any](c net.Conn, who string) *Client[M] {
	l := NewDuplex[M](c)
	l.asks = true
	out := &Client[M]{Duplex: l, who: who, done: make(chan struct{})}
	go out.beat()
	return out
}

// beat asks the companion all the time whether it works. It does not while this side does not come to receive: then
// the companion is to see that.
func (c *Client[M]) beat() {
	tick := time.NewTicker(BeatEvery)
	defer tick.Stop()
	for busy := (Silence{}); ; {
		select {
		case <-c.sent:
			return
		case <-tick.C:
		}
		since := c.Handles()
		if busy.Update(time.Now(), since, since != 0) < 2*BeatEvery {
			c.put(frame[M]{Beat: true}, true)
		}
	}
}

// Run receives the companion's messages, and calls handle with each on this goroutine, until the link ends.
func (c *Client[M]) Run(handle func(*M)) {
	defer close(c.done)
	for {
		m, err := c.Receive()
		if err != nil {
			if err == io.EOF {
				err = fmt.Errorf("the %s has ended", c.who)
			}
			c.Blame(err)
			c.Fail()
			return
		}
		Mishap("handle")
		handle(&m)
	}
}

// Blame keeps the reason why the link is about to end. The first reason counts.
func (c *Client[M]) Blame(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
}

// Err returns the reason why the link has ended.
func (c *Client[M]) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Done is closed when the link has ended.
func (c *Client[M]) Done() <-chan struct{} { return c.done }

// Watch ends the companion, which is process pid, if it is silent for a while, or if the link has ended and the process
// has not for the time of ends; 0: it may go on as long as it likes. Watch opens the process, so that it cannot be
// mistaken for a later one.
func (c *Client[M]) Watch(pid int, silent, ends time.Duration) error {
	p, err := OpenProcess(pid)
	c.mu.Lock()
	c.pid, c.process, c.silent = pid, p, silent
	c.mu.Unlock()
	if err != nil {
		return fmt.Errorf("open the %s: %w", c.who, err)
	}
	go func() {
		defer p.Close()
		c.watch()
		if ends > 0 {
			awaitEnd(p, ends)
		}
	}()
	return nil
}

// Expect sets how long the companion may be silent from now on.
func (c *Client[M]) Expect(silent time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.silent = silent
}

// watch ends a companion that is silent, until the link has ended. While this side does not come to receive, or has
// stood still itself, the companion was not silent.
func (c *Client[M]) watch() {
	tick := time.NewTicker(BeatEvery)
	defer tick.Stop()
	for quiet := (Silence{}); ; {
		select {
		case <-c.done:
			return
		case <-tick.C:
		}
		c.mu.Lock()
		most := c.silent
		c.mu.Unlock()
		lasts := quiet.Update(time.Now(), c.answers(), c.Handles() == 0)
		if lasts > most/2 {
			KillStopped(c.PID()) // a companion's own companion may trace it
		}
		if lasts > most {
			c.Blame(fmt.Errorf("the %s was silent for %v, and was ended", c.who, most))
			c.Kill()
		}
	}
}

// awaitEnd waits until a process has ended, and kills it when a time is over.
func awaitEnd(p *Process, within time.Duration) {
	for end := time.Now().Add(within); !p.Ended(); time.Sleep(BeatEvery / 5) {
		if time.Now().After(end) {
			KillStopped(p.PID)
			p.Kill()
			return
		}
	}
}

// Kill ends the companion at once, if Watch has opened it, and the link. It also ends a companion's companion that a
// signal has stopped, and that would keep it.
func (c *Client[M]) Kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process != nil {
		KillStopped(c.process.PID)
		c.process.Kill()
	}
	c.Fail()
}

// PID returns the companion's number; 0 before Watch.
func (c *Client[M]) PID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pid
}
