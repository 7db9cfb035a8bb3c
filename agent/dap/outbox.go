package dap

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/google/go-dap"
)

const (
	// maxQueued bounds the messages that wait for an editor that does not read.
	maxQueued = 1 << 16
	// lastWrite is how long the end of a session waits for the editor to read what is queued.
	lastWrite = 2 * time.Second
)

// errUnread ends a session whose editor does not read.
var errUnread = errors.New("the editor does not read what podstep sends; the session ends and lets its pods go")

// outbox writes messages to the editor, in order. To put a message never waits: a pod must not depend on how fast an
// editor reads.
type outbox struct {
	to io.Writer

	mu     sync.Mutex
	seq    int
	queue  []dap.Message
	closed bool
	some   chan struct{} // has an item while there is something to do
	done   chan struct{} // closed when nothing is written any more
	broke  chan error    // gets the error that ended the writing
}

func newOutbox(to io.Writer) *outbox {
	o := &outbox{to: to, some: make(chan struct{}, 1), done: make(chan struct{}), broke: make(chan error, 1)}
	go o.run()
	return o
}

// put queues a message and numbers it.
func (o *outbox) put(m dap.Message) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	if len(o.queue) >= maxQueued {
		o.fail(errUnread)
		return
	}
	o.seq++
	switch m := m.(type) {
	case dap.ResponseMessage:
		m.GetResponse().Seq = o.seq
	case dap.EventMessage:
		m.GetEvent().Seq = o.seq
	}
	o.queue = append(o.queue, m)
	o.wake()
}

func (o *outbox) wake() {
	select {
	case o.some <- struct{}{}:
	default:
	}
}

// fail ends the writing. The caller holds mu.
func (o *outbox) fail(err error) {
	o.closed, o.queue = true, nil
	select {
	case o.broke <- err:
	default:
	}
	o.wake()
}

func (o *outbox) run() {
	defer close(o.done)
	for range o.some {
		for {
			o.mu.Lock()
			batch, closed := o.queue, o.closed
			o.queue = nil
			o.mu.Unlock()
			if len(batch) == 0 && closed {
				return
			}
			if len(batch) == 0 {
				break
			}
			for _, m := range batch {
				if err := dap.WriteProtocolMessage(o.to, m); err != nil {
					o.mu.Lock()
					o.fail(err)
					o.mu.Unlock()
					return
				}
			}
		}
	}
}

// close writes what is queued, for at most lastWrite.
func (o *outbox) close() {
	o.mu.Lock()
	o.closed = true
	o.wake()
	o.mu.Unlock()
	t := time.NewTimer(lastWrite)
	defer t.Stop()
	select {
	case <-o.done:
	case <-t.C:
	}
}
