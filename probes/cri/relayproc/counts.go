package relayproc

import (
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/podstep/podstep/probes/clock"
	"github.com/podstep/podstep/probes/cri/relay"
	"github.com/podstep/podstep/probes/cri/takeover"
)

// Counts are what the relay process has counted since podstep asked last.
type Counts struct {
	// Methods has the counts by the name of the method. "" stands for all that Options.Known does not have.
	Methods map[string]*MethodCounts
	// Heartbeats are the guard's calls through the path that were answered. Heartbeat is when the last one was;
	// zero if there was none.
	Heartbeats Histogram
	Heartbeat  clock.Time
}

// MethodCounts are the counts of one method.
type MethodCounts struct {
	// Codes has how many calls ended with each code of gRPC.
	Codes [codes.Unauthenticated + 1]uint64
	// Direct and Added are the times of the calls that the runtime has answered: see relay.Times. Neither has the
	// time in which a person held the call, or delayed it.
	Direct, Added Histogram
}

// Histogram counts durations by size.
type Histogram struct {
	// Counts has, for each bound, how many durations are at most as long as it and longer than the bound before.
	// The last counts those longer than all bounds.
	Counts []uint64
	Sum    time.Duration
}

// DirectBounds, AddedBounds and HeartbeatBounds are the bounds of the histograms.
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

// counters count calls. Known methods bound what they keep, since podstep may never ask for it.
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

// take returns what was counted since its last call; nil if nothing was.
func (c *counters) take() *Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now.Methods == nil && c.now.Heartbeat == 0 {
		return nil
	}
	out := c.now
	c.now = Counts{}
	return &out
}
