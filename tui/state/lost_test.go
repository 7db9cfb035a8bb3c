package state

import (
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// TestUnreadableHasTime: an event that cannot be read is shown as a loss. It has the time of the event before, not
// one in 1970.
func TestUnreadableHasTime(t *testing.T) {
	s := New(&agentpb.InfoResponse{Node: "n"}, probes.MustLoad(), words.English)
	note := eventtest.Encode(&agentpb.Event{Seq: 1, Time: 5e18, Mono: 7e9, Kind: agentpb.Kind_NOTE})
	s.Add(&agentpb.Batch{Events: [][]byte{note, {0xff}}})
	e := eventtest.Decode(t, s.h.Raw(s.h.End()-1))
	if e.Kind != agentpb.Kind_DROP || e.Time != 5e18 || e.Mono != 7e9 {
		t.Errorf("the loss is %v", e)
	}
}
