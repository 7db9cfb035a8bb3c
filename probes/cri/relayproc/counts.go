package relayproc

import (
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/podstep/podstep/probes/cri/relay"
	"github.com/podstep/podstep/probes/cri/takeover"
)

// Counts are what the relay process has counted since it was asked last.
type Counts struct {
	// Methods are by the name of the method; "" are all that Options.Known does not have.
	Methods map[string]*MethodCounts
	// Heartbeats are the guard's calls through the path that were answered, and Heartbeat
	// when the last one was; zero: there was none.
	Heartbeats Histogram
	Heartbeat  time.Time
}

// MethodCounts are those of one method.
type MethodCounts struct {
	// Codes are how many calls ended with each code of gRPC.
	Codes [codes.Unauthenticated + 1]uint64
	// Direct and Added are of the calls that the runtime has answered: see relay.Times. The
	// time in which a person held the call, or delayed it, is in neither.
	Direct, Added Histogram
}

// Histogram counts durations by size.
type Histogram struct {
	// Counts are how many durations are at most as long as the bound at the same place, and
	// longer than the one before; the last are longer than all.
	Counts []uint64
	Sum    time.Duration
}

// DirectBounds, AddedBounds and HeartbeatBounds are those of the histograms.
var (
	DirectBounds = []time.Duration{
		ms / 4, ms / 2, ms, 5 * ms / 2, 5 * ms, 10 * ms, 25 * ms, 50 * ms, 100 * ms, 250 * ms, 500 * ms,
		time.Second, 2500 * ms, 5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute,
	}
	AddedBounds = []time.Duration{
		10 * us, 25 * us, 50 * us, 100 * us, 250 * us, 500 * us, ms, 5 * ms / 2, 5 * ms, 10 * ms, 25 * ms, 50 * ms, 100 * ms, 250 * ms, time.Second,
	}
	HeartbeatBounds = []time.Duration{
		ms / 4, ms / 2, ms, 5 * ms / 2, 5 * ms, 10 * ms, 25 * ms, 50 * ms, 100 * ms, 250 * ms, 500 * ms, time.Second, 2 * time.Second,
	}
)

const (
	ms = time.Millisecond
	us = time.Microsecond
)

func (h *Histogram) add(d time.Duration, bounds []time.Duration) {
	if h.Counts == nil {
		h.Counts = make([]uint64, len(bounds)+1)
	}
	i := 0
	for i < len(bounds) && d > bounds[i] {
		i++
	}
	h.Counts[i]++
	h.Sum += d
}

// counters count calls. What they keep is bounded by the methods that are known: nobody
// may ever ask for it.
type counters struct {
	known map[string]bool

	mu  sync.Mutex
	now Counts
}

func newCounters(known []string) *counters {
	c := &counters{known: map[string]bool{}}
	for _, m := range known {
		c.known[m] = true
	}
	return c
}

// call counts a call that is over.
func (c *counters) call(t relay.Times) {
	method := t.Method
	if !c.known[method] {
		method = ""
	}
	code := t.Code
	if code > codes.Unauthenticated {
		code = codes.Unknown
	}
	if r, ok := t.State.(*reported); ok {
		t.Added -= time.Duration(r.held.Load())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.now.Methods[method]
	if m == nil {
		if c.now.Methods == nil {
			c.now.Methods = map[string]*MethodCounts{}
		}
		m = &MethodCounts{}
		c.now.Methods[method] = m
	}
	m.Codes[code]++
	if t.Answered {
		m.Direct.add(t.Direct, DirectBounds)
		m.Added.add(max(0, t.Added), AddedBounds)
	}
}

// heartbeat counts a heartbeat.
func (c *counters) heartbeat(b takeover.Heartbeat) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now.Heartbeats.add(b.Took, HeartbeatBounds)
	c.now.Heartbeat = b.At
}

// take returns what was counted since it was called last; nil: nothing.
func (c *counters) take() *Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now.Methods == nil && c.now.Heartbeat.IsZero() {
		return nil
	}
	out := c.now
	c.now = Counts{}
	return &out
}
