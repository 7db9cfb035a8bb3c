package relay

import (
	"time"

	"google.golang.org/grpc/codes"
)

// Times are those of a call that is over.
type Times struct {
	Method string
	Code   codes.Code
	State  any // the watcher's own of the call

	// Answered is that the runtime has answered. Then Direct is from when the request was
	// sent on until the answer came, and Added is what else passes here: from when the
	// request was read until it was sent on, its gate included, and from when the end of
	// the answer was read until it was sent on.
	Answered      bool
	Direct, Added time.Duration
}

// Measure has meter called with the times of each call, watched or not, when it is over.
// meter runs on the connection's own goroutines and must be quick. It is set before Run.
func (c *Conn) Measure(meter func(Times)) { c.meter = meter }

// stopwatch has the moments of a call at which a part of its way ends.
type stopwatch struct {
	read, sent, answered time.Time
}

// times are those of a call that the runtime has not answered, or not yet.
func (k *call) times(code codes.Code) Times {
	return Times{Method: k.Method, Code: code, State: k.State}
}

// came notes that the last of a request, so far, was read.
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

// releasedSent is sentOn for what was kept back, and is written now.
func (c *Conn) releasedSent() {
	c.mu.Lock()
	calls := c.toBeSent
	c.toBeSent = nil
	c.mu.Unlock()
	if len(calls) > 0 {
		c.sentOn(calls)
	}
}

// finish measures the calls whose answers' ends a pump has written.
func (c *Conn) finish(calls []*call) {
	now := time.Now()
	for _, k := range calls {
		w := &k.watch // nobody else has it any more
		t := k.times(k.code)
		if !w.sent.IsZero() {
			t.Answered, t.Direct = true, w.answered.Sub(w.sent)
			t.Added = w.sent.Sub(w.read) + now.Sub(w.answered)
		}
		c.meter(t)
	}
}
