package state

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// TestUnreadableHasTime: an event that cannot be read is shown as a loss at the
// time of the one before, not in 1970.
func TestUnreadableHasTime(t *testing.T) {
	s := New(&agentpb.InfoResponse{Node: "n"}, probes.MustLoad(), words.English)
	note, err := proto.Marshal(&agentpb.Event{Seq: 1, Time: 5e18, Mono: 7e9, Kind: agentpb.Kind_NOTE})
	if err != nil {
		t.Fatal(err)
	}
	s.Add(&agentpb.Batch{Events: [][]byte{note, {0xff}}})
	var e agentpb.Event
	if err := proto.Unmarshal(s.h.Raw(s.h.End()-1), &e); err != nil {
		t.Fatal(err)
	}
	if e.Kind != agentpb.Kind_DROP || e.Time != 5e18 || e.Mono != 7e9 {
		t.Errorf("the loss is %v", &e)
	}
}
