package companion

import (
	"fmt"
	"io"
	"sync"
)

// Client is the side of a link that has started the companion. It keeps why the link has ended.
type Client[M any] struct {
	*Duplex[M]
	who  string
	done chan struct{}

	mu  sync.Mutex
	err error
}

// NewClient makes one of a link to a companion, which is who in errors.
func NewClient[M any](link *Duplex[M], who string) *Client[M] {
	return &Client[M]{Duplex: link, who: who, done: make(chan struct{})}
}

// Run has handle take what the companion sends, on this goroutine, until the link ends.
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

// Blame keeps why the link is about to end. The first reason counts.
func (c *Client[M]) Blame(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
}

// Err is why the link has ended.
func (c *Client[M]) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Done is closed when the link has ended.
func (c *Client[M]) Done() <-chan struct{} { return c.done }
