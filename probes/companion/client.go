package companion

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Client is the side of a link that has started the companion. It keeps the reason why the link has ended.
type Client[M any] struct {
	*Duplex[M]
	who  string
	done chan struct{}

	mu      sync.Mutex
	err     error
	pid     int
	process *os.File // a pidfd; nil until Watch, and when the link has ended
}

// NewClient makes a client of a link to a companion. Errors name the companion by who.
func NewClient[M any](link *Duplex[M], who string) *Client[M] {
	return &Client[M]{Duplex: link, who: who, done: make(chan struct{})}
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

// Watch ends the companion, which is process pid, if it is silent. It opens the process, so that it cannot be mistaken
// for a later one.
func (c *Client[M]) Watch(pid int) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return fmt.Errorf("open the %s: %w", c.who, err)
	}
	c.mu.Lock()
	c.pid, c.process = pid, os.NewFile(uintptr(fd), fmt.Sprintf("process %d", pid))
	c.mu.Unlock()
	go c.watch()
	return nil
}

func (c *Client[M]) watch() {
	tick := time.NewTicker(BeatEvery)
	defer tick.Stop()
	for {
		select {
		case <-c.done:
			c.mu.Lock()
			_ = c.process.Close()
			c.process = nil
			c.mu.Unlock()
			return
		case <-tick.C:
		}
		silent := c.Silent()
		if silent > SilentAfter/2 {
			KillStopped(c.PID()) // a companion's own companion may trace it
		}
		if silent > SilentAfter+BeatEvery {
			c.Blame(fmt.Errorf("the %s was silent for %v, and was ended", c.who, SilentAfter))
			c.Kill()
		}
	}
}

// Kill ends the companion at once, if Watch has opened it, and the link.
func (c *Client[M]) Kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process != nil {
		_ = unix.PidfdSendSignal(int(c.process.Fd()), unix.SIGKILL, nil, 0)
	}
	c.Fail()
}

// PID returns the companion's number; 0 before Watch.
func (c *Client[M]) PID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pid
}
