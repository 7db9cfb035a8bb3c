package relay

import (
	"time"

	"google.golang.org/grpc/codes"
)

// Times are the times of a call that is over.
type Times struct {
	Method string
	Code   codes.Code
	State  any // the watcher's own State of the call

	// Answered is set if the runtime has answered. Then Direct is the time from when the request was sent on until
	// the answer came. Added is the rest of the time here: from when the request was read until it was sent on, its
	// gate included, and from when the end of the answer was read until it was sent on.
	Answered      bool
	Direct, Added time.Duration
}

// Measure sets meter, which is called with the times of each call, watched or not, when it is over. meter runs on
// the connection's own goroutines and must be quick. Measure must be called before Run.
func (c *Conn) Measure(meter func(Times)) { c.meter = meter }

// stopwatch has the moments at which the parts of a call's way end.
type stopwatch struct {
	read, sent, answered time.Time
}

// times returns the times of a call that the runtime has not answered, or not yet.
func (k *call) times(code codes.Code) Times {
	return Times{Method: k.Method, Code: code, State: k.State}
}

// came notes that the last bytes of a request so far were read.
func (k *call) came(at time.Time) { k.watch.read, k.watch.sent = at, time.Time{} }

// sentOn notes that a pump has written what passes of requests.
func (c *Conn) sentOn(calls []*call) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range calls {
		if !k.over {
			k.watch.sent = now
		}
	}
}

// releasedSent is sentOn for requests that were kept back and are written now.
func (c *Conn) releasedSent() {
	c.mu.Lock()
	calls := c.toBeSent
	c.toBeSent = nil
	c.mu.Unlock()
	if len(calls) > 0 {
		c.sentOn(calls)
	}
}

// finish measures the calls whose answers a pump has written to their end.
func (c *Conn) finish(calls []*call) {
	now := time.Now()
	for _, k := range calls {
		w := &k.watch // no other goroutine has it any more
		t := k.times(k.code)
		if !w.sent.IsZero() {
			t.Answered, t.Direct = true, w.answered.Sub(w.sent)
			t.Added = w.sent.Sub(w.read) + now.Sub(w.answered)
		}
		c.meter(t)
	}
}
