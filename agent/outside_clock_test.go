package agent

import (
	"context"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes/clock"
	"github.com/podstep/podstep/probes/clock/clocktest"
)

// TestSetClock: somebody sets the wall clock by an hour, and back, in the middle of a story. No duration changes, and no
// call is there twice.
func TestSetClock(t *testing.T) {
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		w := newTwice(t)
		var set time.Duration
		// sent is a time that a probe's process sends, as it comes when the clock is set.
		sent := func(ms int) time.Time { return clock.Of(w.at(ms)).As(clocktest.Set(time.Now(), set)) }
		stop := func(by *Probe, id string, ms int) *Call {
			return by.Begin(Seen{Step: "cri.StopContainer", At: sent(ms), Values: []any{id, id, int64(3)}})
		}
		end := func(c *Call, ms int) { c.End(sent(ms), nil, []any{false}) }
		turn := w.turn()
		before := stop(w.in, "c1", 10)
		beforeToo := stop(w.out, "c1", 12)
		set = by
		end(beforeToo, 20)
		end(before, 22)
		during := stop(w.out, "c2", 32)
		set = 0
		duringToo := stop(w.in, "c2", 30)
		end(during, 40)
		set = by
		end(duringToo, 42)
		turn.End(w.at(50), nil, nil)
		var durations []time.Duration
		notes, enters := 0, 0
		for _, e := range w.events("web") {
			if w.c.Steps[e.Step-1].Name != "cri.StopContainer" {
				continue
			}
			if e.Mono < int64(10*time.Millisecond) || e.Mono > int64(42*time.Millisecond) {
				t.Errorf("with the clock set by %v, %v of a call is at %v", by, e.Kind, time.Duration(e.Mono))
			}
			switch e.Kind {
			case agentpb.Kind_ENTER:
				enters++
			case agentpb.Kind_EXIT:
				durations = append(durations, time.Duration(e.Duration))
			case agentpb.Kind_NOTE:
				notes++
			}
		}
		if enters != 2 || notes != 4 || len(durations) != 2 || durations[0] != 12*time.Millisecond || durations[1] != 8*time.Millisecond {
			t.Errorf("with the clock set by %v, of two calls there are %d enters, %d notes and the durations %v", by, enters, notes, durations)
		}
	}
}

// TestStopEnded: a call that has ended is not held at its begin, whoever wants its pod held.
func TestStopEnded(t *testing.T) {
	w := newTwice(t)
	call := w.stop(w.out, "c1", 10, nil)
	w.breakAt(w.pod, "cri.StopContainer", agentpb.On_ON_ENTER)
	passed := make(chan struct{})
	go func() { defer close(passed); _ = call.Stop(t.Context()) }()
	w.held(w.pod).Release("continue")
	<-passed
	call.End(w.at(20), nil, []any{false})
	w.breakAt(w.pod, "cri.StopContainer", agentpb.On_ON_ENTER)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // a hold would end at once
	_ = call.Stop(ctx)
	holds := 0
	for _, e := range w.events("web") {
		if e.Kind == agentpb.Kind_HOLD {
			holds++
		}
	}
	if holds != 1 {
		t.Errorf("a call was held %d times, want once, before its end", holds)
	}
}
