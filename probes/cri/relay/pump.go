package relay

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// direction is the direction of a pump. It indexes Conn.maxFrame.
type direction int

const (
	upward direction = iota
	downward
)

// side is an end of the connection, by its name.
type side string

const (
	theClient  side = "client"
	theRuntime side = "runtime"
)

func (d direction) from() side {
	if d == upward {
		return theClient
	}
	return theRuntime
}

func (d direction) to() side {
	if d == upward {
		return theRuntime
	}
	return theClient
}

// bufferSize is how much a pump reads at once. A larger frame makes the buffer grow.
const bufferSize = 64 << 10

// pump carries one direction. It reads as much as there is, looks at the whole
// frames in it, and writes those that pass in one go.
type pump struct {
	conn *Conn
	way  direction
	src  net.Conn
	out  *output

	buf        []byte
	start, end int // of the bytes that were read and not yet looked at
	now        time.Time

	// What is written next: the pieces in order, and behind them the bytes of buf that pass as they are.
	pieces     net.Buffers
	from, upTo int

	headers *headerReader
	asked   bool         // the watcher was asked since the last write
	busy    atomic.Int64 // when the handling of what is there began, in nanoseconds since 1970; 0: the pump waits

	// Since the last write: calls whose request passes, and calls whose answer ends.
	requests, answers []*call

	greeted int  // bytes of the client's preface that were passed
	hello   int  // bytes of the runtime's first frame, still in buf, that were passed
	spoke   bool // the preface, or the first frame, was whole
}

func newPump(c *Conn, src net.Conn, out *output, way direction) *pump {
	return &pump{conn: c, way: way, src: src, out: out, headers: newHeaderReader()}
}

// run carries until it can read or write no more. It returns the side whose connection ended.
func (p *pump) run() (gone side) {
	p.buf = make([]byte, bufferSize)
	for {
		p.makeRoom()
		n, err := p.src.Read(p.buf[p.end:])
		p.end += n
		if werr := p.forward(); werr != nil {
			closeRead(p.src)
			return p.way.to()
		}
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded) && p.conn.isRaw():
			// stopLooking has set the deadline, so that the bytes left here go on.
			p.src.SetReadDeadline(time.Time{}) //nolint:errcheck // the next read tells
		default:
			p.passRest(err)
			return p.way.from()
		}
	}
}

// passRest passes what is left of a frame that will not be whole any more.
func (p *pump) passRest(err error) {
	if p.end == p.start || !errors.Is(err, io.EOF) {
		return
	}
	p.conn.stopLooking(io.ErrUnexpectedEOF)
	if p.conn.isRaw() {
		p.forward() //nolint:errcheck // it was the last
	}
}

// makeRoom moves what was not yet looked at to the front. It grows the buffer for a frame that does not fit.
func (p *pump) makeRoom() {
	if p.start == p.end {
		p.start, p.end = 0, 0
		return
	}
	need := headLen
	if p.end-p.start >= headLen && p.spoke {
		need = frameLen(p.buf[p.start:])
	}
	if p.start == 0 && need <= len(p.buf) && p.end < len(p.buf) {
		return
	}
	to := p.buf
	if need > len(p.buf) {
		to = make([]byte, need)
	}
	p.end = copy(to, p.buf[p.start:p.end])
	p.start, p.buf = 0, to
}

// forward looks at what was read, and writes the part that passes.
func (p *pump) forward() error {
	p.out.writing.Lock()
	defer p.out.writing.Unlock()
	p.now = time.Now()
	p.busy.Store(p.now.UnixNano())
	if !p.conn.isRaw() {
		if err := p.readFrames(); err != nil {
			p.conn.stopLooking(err)
		}
	}
	if p.conn.isRaw() {
		p.passAll()
	}
	p.busy.Store(0)
	err := p.write() // which waits for the other side, however long it takes
	p.busy.Store(p.now.UnixNano())
	p.measure()
	if p.asked {
		p.asked = false
		p.conn.watcher.Passed()
	}
	p.busy.Store(0)
	return err
}

// passed notes that a request goes on, as far as it has come. The caller holds the connection's mutex.
func (p *pump) passed(k *call) {
	k.watch.sent = p.now // nearly; the answer may come before it is known better
	p.requests = append(p.requests, k)
}

// measure is called after a write.
func (p *pump) measure() {
	if len(p.requests) > 0 {
		p.conn.sentOn(p.requests)
		clear(p.requests)
		p.requests = p.requests[:0]
	}
	if len(p.answers) > 0 {
		p.conn.finish(p.answers)
		clear(p.answers)
		p.answers = p.answers[:0]
	}
}

// passAll passes all bytes that are there, also those that were taken for a part of a frame or of a header block.
func (p *pump) passAll() {
	if b := p.headers.giveUp(); b != nil {
		p.put(b)
	}
	p.pass(p.start+p.hello, p.end)
	p.start, p.hello = p.end, 0
}

// PanicError is why a connection is no longer looked at after a fault of the relay's or the watcher's own.
type PanicError struct{ Text string }

func (e *PanicError) Error() string { return "panic: " + e.Text }

// readFrames looks at each whole frame. Wrong bytes, or an error of our own, must not break the connection.
func (p *pump) readFrames() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = &PanicError{fmt.Sprint(r)}
		}
	}()
	if !p.spoke {
		if err := p.readGreeting(); err != nil || !p.spoke {
			return err
		}
	}
	for p.end-p.start >= headLen {
		n := frameLen(p.buf[p.start:])
		if n > p.conn.frameLimit(p.way)+headLen {
			return fmt.Errorf("frame of %d bytes is larger than agreed", n)
		}
		if p.end-p.start < n {
			break
		}
		f := parseFrame(p.buf[p.start : p.start+n])
		pass, err := p.frame(&f)
		if err != nil {
			return err
		}
		if pass {
			p.pass(p.start, p.start+n)
		}
		p.start += n
	}
	p.conn.batchDone(p.way)
	return nil
}

func (p *pump) frame(f *frame) (pass bool, err error) {
	if p.way == upward {
		return p.conn.fromClientFrame(p, f)
	}
	return p.conn.fromRuntimeFrame(p, f)
}

// readGreeting handles the beginning of a connection: the client's preface, or the runtime's SETTINGS. It keeps nothing
// back, since the connection may turn out to speak another protocol, whose other end waits for each byte.
func (p *pump) readGreeting() error {
	got := p.buf[p.start:p.end]
	if p.way == upward {
		n := min(len(got), len(preface)-p.greeted)
		if string(got[:n]) != preface[p.greeted:p.greeted+n] {
			return errNotHTTP2
		}
		p.pass(p.start, p.start+n)
		p.start += n
		p.greeted += n
		p.spoke = p.greeted == len(preface)
		return nil
	}
	if !couldBeSettings(got) {
		return errNotHTTP2
	}
	if len(got) >= headLen && len(got) >= frameLen(got) {
		return p.firstSettings(got[:frameLen(got)])
	}
	p.pass(p.start+p.hello, p.end)
	p.hello = len(got)
	return nil
}

func (p *pump) firstSettings(raw []byte) error {
	f := parseFrame(raw)
	if _, err := p.conn.fromRuntimeFrame(p, &f); err != nil {
		return err
	}
	p.pass(p.start+p.hello, p.start+len(raw))
	p.start += len(raw)
	p.hello, p.spoke = 0, true
	p.conn.runtimeSpeaks()
	return nil
}

// couldBeSettings reports whether b begins like a SETTINGS frame of usual size.
func couldBeSettings(b []byte) bool {
	want := [headLen]byte{3: frameSettings}
	for i, c := range b[:min(len(b), headLen)] {
		if i != 1 && i != 2 && c != want[i] {
			return false
		}
	}
	return len(b) < 2 || b[1] < minMaxFrame>>8
}

// pass makes bytes of the buffer be written next, as they are.
func (p *pump) pass(from, to int) {
	if from != p.upTo || p.from == p.upTo {
		p.cut()
		p.from = from
	}
	p.upTo = to
}

// put makes b the next piece that is written.
func (p *pump) put(b []byte) {
	p.cut()
	p.pieces = append(p.pieces, b)
}

// cut ends the run of bytes that pass as they are.
func (p *pump) cut() {
	if p.from < p.upTo {
		p.pieces = append(p.pieces, p.buf[p.from:p.upTo])
	}
	p.from, p.upTo = 0, 0
}

func (p *pump) write() error {
	if len(p.pieces) == 0 {
		b := p.buf[p.from:p.upTo]
		p.from, p.upTo = 0, 0
		if len(b) == 0 {
			return nil
		}
		_, err := p.out.conn.Write(b)
		return err
	}
	p.cut()
	all := p.pieces
	_, err := all.WriteTo(p.out.conn)
	clear(p.pieces)
	p.pieces = p.pieces[:0]
	return err
}

// closeRead closes a connection's reading side, so that its peer notices as if the side it writes to was gone.
func closeRead(c net.Conn) {
	if r, ok := c.(interface{ CloseRead() error }); ok {
		r.CloseRead() //nolint:errcheck // the peer may be gone
		return
	}
	c.Close()
}
