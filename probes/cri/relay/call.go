package relay

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// phase is how far a call's message has come.
type phase int

const (
	passing   phase = iota // what comes goes on, in order
	gathering              // the message is kept back until it is whole
	asking                 // the watcher is being asked
	held                   // its gate is waited for
)

// call is a call under way. The connection's mutex guards it.
type call struct {
	Call
	id       uint32
	phase    phase
	watched  bool // the watcher knows it, and is owed its end
	over     bool
	late     func() // the end, if it came while the watcher was asked
	begun    bool   // the runtime's headers went to the client
	encoding string // of the request

	kept     []byte // of the request, not sent; never written to but at its end
	keptEnd  bool   // the client's end of the stream is kept as well
	queued   bool   // among the released
	window   int64  // bytes that the runtime takes on the stream
	debt     int64  // lent to the client on the stream
	reserved int64

	watch stopwatch
	code  codes.Code // once the runtime has answered

	answer answer
	cancel context.CancelFunc
	goOn   context.CancelCauseFunc // ends the hold, and the call goes on
}

func (k *call) hasUnsent() bool { return len(k.kept) > 0 || k.keptEnd }

// keeping reports whether further data of the request must wait.
func (k *call) keeping() bool { return k.phase != passing || k.queued }

// givenUp reports whether a call cannot go on when its client is gone.
func (k *call) givenUp() bool { return k.phase != passing }

func (k *call) entangled() bool {
	return k.debt > 0 || k.hasUnsent() || k.phase == asking || k.phase == held
}

// appendData appends the next n kept bytes as a frame.
func (k *call) appendData(b []byte, n int64) []byte {
	var flags byte
	if k.keptEnd && n == int64(len(k.kept)) {
		flags, k.keptEnd = flagEndStream, false
	}
	b = append(appendHead(b, int(n), frameData, flags, k.id), k.kept[:n]...)
	k.kept = k.kept[n:]
	k.window -= n
	return b
}

// unreserve gives back the room that the call's request took.
func (c *Conn) unreserve(k *call) {
	c.account.reserved -= k.reserved
	k.reserved = 0
}

// release lets what is kept of a call go on as the window allows.
func (c *Conn) release(k *call) {
	k.phase = passing
	if !k.hasUnsent() {
		c.unreserve(k)
		return
	}
	if !k.queued {
		k.queued = true
		c.released = append(c.released, k)
	}
	c.toRuntime.poke()
}

// endCall takes a call out. It returns the function that reports the end to the watcher, which must be called without
// the mutex and before the client sees the end.
func (c *Conn) endCall(k *call, st *status.Status, at time.Time) func() {
	if k.over {
		return func() {}
	}
	k.over = true
	delete(c.calls, k.id)
	if k.cancel != nil {
		k.cancel()
		k.goOn(nil)
	}
	c.grantClient(c.account.drop(int64(len(k.kept))))
	k.kept, k.keptEnd = nil, false // a queued call leaves the queue by that
	c.unreserve(k)
	c.account.answers -= int64(len(k.answer.bytes))
	report := func() {
		if k.watched {
			c.watcher.End(&k.Call, k.answer.message(), st, at)
		}
		if k.watch.answered.IsZero() {
			c.meter(k.times(st.Code()))
		}
	}
	if k.phase == asking {
		k.late = report
		return func() {}
	}
	return report
}

// grantClient grants the client window on the connection.
func (c *Conn) grantClient(n int64) {
	if n > 0 {
		c.toClient.credit += n
		c.toClient.poke()
	}
}

// askWatcher shows the watcher the first message that is kept of the call, which is whole. It reports whether the last
// piece of the message passes as it came: the common case, without a detour. Only the upward pump calls it, without
// the mutex.
func (c *Conn) askWatcher(k *call, last *piece) bool {
	message, err := plainMessage(last.whole, k.encoding)
	var gate func(context.Context) error
	if err == nil {
		gate = c.watcher.Request(&k.Call, message)
	}
	pass, late := c.watcherAsked(k, last, err == nil, gate)
	if late != nil {
		late()
	}
	return pass
}

func (c *Conn) watcherAsked(k *call, last *piece, watched bool, gate func(context.Context) error) (pass bool, late func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k.watched = watched
	switch {
	case k.over:
		return false, k.late
	case gate != nil:
		k.phase = held
		var ctx context.Context
		ctx, k.goOn = context.WithCancelCause(context.Background())
		ctx, k.cancel = k.Context(ctx)
		if c.away {
			k.goOn(errLeaves)
		}
		go c.hold(ctx, k, gate)
	case last.all && c.fits(k, last.size):
		k.phase = passing
		k.kept, k.keptEnd = nil, false
		c.account.kept -= last.size
		c.spend(k, last.size)
		c.unreserve(k)
		c.up.passed(k)
		return true, nil
	default:
		c.release(k)
	}
	return false, nil
}

// Context returns a context that ends at the call's deadline at the latest, if it has one.
func (c *Call) Context(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.Deadline.IsZero() {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, c.Deadline)
}

// errLeaves is why held calls go on when the runtime has asked its client to go: a runtime that ends in order waits
// for them.
var errLeaves = errors.New("the runtime is about to end")

// letGo ends all holds. The caller holds mu.
func (c *Conn) letGo() {
	for _, k := range c.calls {
		if k.phase == held {
			k.goOn(errLeaves)
		}
	}
}

// hold waits for a gate, on a goroutine of its own.
func (c *Conn) hold(ctx context.Context, k *call, gate func(context.Context) error) {
	err := gate(ctx)
	if st, report := c.unhold(ctx, k, err); st != nil {
		report()
		c.refuse(k, st)
	}
}

// unhold ends a hold. The status is nil if the call is not to be answered here.
func (c *Conn) unhold(ctx context.Context, k *call, err error) (st *status.Status, report func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k.over {
		return nil, nil
	}
	switch {
	case errors.Is(context.Cause(ctx), errLeaves):
		err = nil
	case err == nil:
		err = ctx.Err()
	}
	if err == nil {
		k.goOn(nil)
		k.cancel()
		c.release(k)
		return nil, nil
	}
	st = refusal(err)
	c.answered.add(k.id)
	c.plain = true
	return st, c.endCall(k, st, time.Now())
}

// refuse answers a call in the runtime's place.
func (c *Conn) refuse(k *call, st *status.Status) {
	headers := encodePlain(statusHeaders(st, k.begun))
	c.mu.Lock()
	c.toClient.side = appendHeaders(c.toClient.side, k.id, headers, true)
	c.toRuntime.side = appendReset(c.toRuntime.side, k.id, resetCancel)
	c.mu.Unlock()
	c.toClient.poke()
	c.toRuntime.poke()
}

// answeredCalls are the last calls that were answered here. What the runtime still sends for them is not for the
// client. It sends no more once it has read the reset, so the last ones are enough.
type answeredCalls struct {
	ids  map[uint32]bool
	last []uint32
}

const maxAnswered = 1024

func (a *answeredCalls) add(id uint32) {
	if a.ids == nil {
		a.ids = map[uint32]bool{}
	}
	if len(a.last) == maxAnswered {
		delete(a.ids, a.last[0])
		a.last = a.last[1:]
	}
	a.ids[id] = true
	a.last = append(a.last, id)
}

func (a *answeredCalls) has(id uint32) bool { return len(a.ids) > 0 && a.ids[id] }

var errNotHTTP2 = errors.New("the client does not speak HTTP/2")
