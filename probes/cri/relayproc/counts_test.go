package relayproc

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/podstep/podstep/probes/clock"
	"github.com/podstep/podstep/probes/cri/relay"
	"github.com/podstep/podstep/probes/cri/takeover"
)

// TestCounts: calls are counted by method and code, those of unknown methods together. The time for which a person
// held a call is not counted as added by podstep.
func TestCounts(t *testing.T) {
	c := newCounters([]string{method})
	if got := c.take(); got != nil {
		t.Errorf("before all: %+v", got)
	}
	held := &reported{}
	held.held.Store(int64(time.Minute))
	for _, x := range []relay.Times{
		{Method: method, Answered: true, Direct: 3 * time.Millisecond, Added: 20 * time.Microsecond},
		{Method: method, Answered: true, Direct: time.Hour, Added: time.Minute + time.Microsecond, State: held},
		{Method: method, Code: codes.Canceled},
		{Method: "/a/A", Code: 99},
		{Method: "/b/B", Code: codes.NotFound, Answered: true, Direct: time.Millisecond},
	} {
		c.call(x)
	}
	at := clock.Now()
	c.heartbeat(takeover.Heartbeat{At: at, Took: time.Millisecond})
	got := c.take()
	m, others := got.Methods[method], got.Methods[""]
	if len(got.Methods) != 2 || m.Codes[codes.OK] != 2 || m.Codes[codes.Canceled] != 1 || others.Codes[codes.Unknown] != 1 || others.Codes[codes.NotFound] != 1 {
		t.Errorf("counted: %+v, %+v", m, others)
	}
	if d := m.Direct; d.Sum != time.Hour+3*time.Millisecond || d.Counts[4] != 1 || d.Counts[len(DirectBounds)] != 1 {
		t.Errorf("direct: %+v", d)
	}
	if a := m.Added; a.Sum != 21*time.Microsecond || a.Counts[0] != 1 || a.Counts[1] != 1 {
		t.Errorf("added: %+v", a)
	}
	if h := got.Heartbeats; h.Counts[2] != 1 || got.Heartbeat != at {
		t.Errorf("heartbeats: %+v, the last at %v", h, got.Heartbeat)
	}
	if again := c.take(); again != nil {
		t.Errorf("counted twice: %+v", again)
	}
}

// TestHeldIsMeasured: a call counts as held from when podstep has looked at it until its verdict.
func TestHeldIsMeasured(t *testing.T) {
	for name, looked := range map[string]bool{"held": true, "passed on": false} {
		t.Run(name, func(t *testing.T) {
			w, far := pipe(t)
			w.arm(true)
			c := &relay.Call{Method: method}
			gate := w.Request(c, []byte("a"))
			id := next(t, far).Begin.ID
			if looked {
				w.decide(verdict{ID: id, Looked: true})
			}
			w.decide(verdict{ID: id})
			if err := gate(t.Context()); err != nil {
				t.Fatal(err)
			}
			if r, ok := c.State.(*reported); !ok || (r.held.Load() > 0) != looked {
				t.Errorf("state: %+v", c.State)
			}
		})
	}
}
