package history

import (
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
)

// callEvent makes an event of a call within a parent; 0: it has none.
func callEvent(second int, kind agentpb.Kind, span, parent uint64) []byte {
	return eventAt(second, &agentpb.Event{Kind: kind, Step: 1, Span: span, Parent: parent})
}

// TestTookWithoutHolds: at any position, the time for which a call was held, or one that it made, does not count for
// it. Two calls that are held at once hold their caller once.
func TestTookWithoutHolds(t *testing.T) {
	const enter, exit, hold, release = agentpb.Kind_ENTER, agentpb.Kind_EXIT, agentpb.Kind_HOLD, agentpb.Kind_RELEASE
	h := New(agentOf(0, agentpb.ProbeState_PROBE_RUNNING), probes.MustLoad())
	h.Add(&agentpb.Batch{Events: [][]byte{
		callEvent(0, enter, 1, 0), callEvent(1, enter, 2, 1), callEvent(2, hold, 2, 0), callEvent(12, release, 2, 0), callEvent(13, exit, 2, 1),
		callEvent(14, enter, 3, 1), callEvent(14, enter, 4, 1), callEvent(15, hold, 3, 0), callEvent(16, hold, 4, 0), callEvent(20, release, 3, 0), callEvent(25, release, 4, 0),
		callEvent(26, exit, 3, 1), callEvent(26, exit, 4, 1), callEvent(30, exit, 1, 0), callEvent(31, enter, 5, 0), callEvent(32, hold, 5, 0),
	}}, nil)
	for name, c := range map[string]struct {
		ref, at, now int
		want         time.Duration
	}{
		"before the hold":            {1, 2, 2, time.Second},
		"while it is held":           {1, 3, 9, time.Second},
		"released":                   {1, 4, 12, time.Second},
		"over":                       {1, 16, 40, 2 * time.Second},
		"its caller, while held":     {0, 3, 9, 2 * time.Second},
		"its caller, over":           {0, 16, 40, 10 * time.Second},
		"held beside another":        {2, 16, 40, 7 * time.Second},
		"its caller, both held":      {0, 9, 18, 5 * time.Second},
		"its caller, one still held": {0, 10, 22, 5 * time.Second},
		"still held":                 {4, 16, 50, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			call := h.Call(c.ref, c.at)
			if got := call.Took(int64(c.now) * 1e9); got != c.want {
				t.Errorf("it took %v, want %v", got, c.want)
			}
			if got := h.Took(c.ref, c.at, int64(c.now)*1e9); got != c.want {
				t.Errorf("without its events it took %v, want %v", got, c.want)
			}
		})
	}
}

// TestHoldsForget: holds are kept for as long as their calls.
func TestHoldsForget(t *testing.T) {
	h := New(agentOf(0, agentpb.ProbeState_PROBE_RUNNING), probes.MustLoad())
	h.SetLimit(1 << 16)
	var all [][]byte
	for i := 1; i < 40_000; i += 4 {
		for k, kind := range []agentpb.Kind{agentpb.Kind_ENTER, agentpb.Kind_HOLD, agentpb.Kind_RELEASE, agentpb.Kind_EXIT} {
			all = append(all, callEvent(i+k, kind, uint64(i), 0))
		}
	}
	h.Add(&agentpb.Batch{Events: all}, nil)
	if kept := h.End() - h.First(); h.First() == 0 || len(h.holds) > kept/4+spanChunk {
		t.Errorf("of %d events there are holds of %d calls", kept, len(h.holds))
	}
}
