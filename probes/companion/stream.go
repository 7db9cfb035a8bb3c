package companion

import (
	"bufio"
	"encoding/gob"
	"fmt"
	"io"
	"net"
	"time"
)

// Stream carries messages over a link, both ways. It sends from a queue of the caller's, so that code that queues a
// message never waits for the other side.
type Stream[M any] struct {
	c    net.Conn
	dec  *gob.Decoder
	done chan struct{} // closed when nothing is sent any more
}

// streamBuffer is the size of a stream's buffers, in bytes.
const streamBuffer = 64 << 10

// NewStream makes a stream of a link, and sends the messages that take returns until take reports that no more
// follow. take waits for messages. failed is called if they cannot be sent.
func NewStream[M any](c net.Conn, take func() (batch []M, more bool), failed func()) *Stream[M] {
	s := &Stream[M]{c: c, dec: gob.NewDecoder(bufio.NewReaderSize(c, streamBuffer)), done: make(chan struct{})}
	go s.write(take, failed)
	return s
}

func (s *Stream[M]) write(take func() ([]M, bool), failed func()) {
	defer close(s.done)
	out := bufio.NewWriterSize(s.c, streamBuffer)
	enc := gob.NewEncoder(out)
	for more := true; more; {
		var batch []M
		batch, more = take()
		for i := range batch {
			if enc.Encode(&batch[i]) != nil {
				failed()
				return
			}
		}
		if out.Flush() != nil {
			failed()
			return
		}
	}
}

// Done is closed when nothing is sent any more.
func (s *Stream[M]) Done() <-chan struct{} { return s.done }

// Receive reads one message. It returns io.EOF when the other side has ended.
func (s *Stream[M]) Receive() (m M, err error) {
	defer func() {
		// gob does not promise that no input makes it panic, and a kubelet must not depend on that.
		if r := recover(); r != nil {
			err = fmt.Errorf("read message: %v", r)
		}
	}()
	err = s.dec.Decode(&m)
	if err != nil && err != io.EOF {
		err = fmt.Errorf("read message: %w", err)
	}
	return m, err
}

// Cut closes the link: nothing can be sent any more.
func (s *Stream[M]) Cut() { _ = s.c.Close() }

// closeWithin bounds how long Close waits for a side that does not read.
const closeWithin = time.Second

// Close sends the messages that are left, for as long as the other side takes them, and closes the link.
func (s *Stream[M]) Close() {
	_ = s.c.SetWriteDeadline(time.Now().Add(closeWithin))
	<-s.done
	s.Cut()
}
