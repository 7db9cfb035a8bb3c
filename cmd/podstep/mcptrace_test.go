package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// TestChosenEvents: an answer has the first events that have room, or the last that are asked for. It says how many are
// left out, and how one gets them.
func TestChosenEvents(t *testing.T) {
	long := strings.Repeat("x", 100<<10) // so five have room
	for _, x := range []struct {
		name        string
		after       uint64
		last        int
		events      int
		error       string
		first, seqs uint64 // the number of the first, and how many there are
		left        string
	}{
		{"all", 0, 0, 20, "", 1, 20, ""},
		{"after", 15, 0, 20, "", 16, 5, ""},
		{"after the last", 20, 0, 20, "", 0, 0, ""},
		{"last", 0, 3, 20, "", 18, 3, ""},
		{"last of fewer", 0, 30, 20, "", 1, 20, ""},
		{"last after", 18, 5, 20, "", 19, 2, ""},
		{"no room", 0, 0, 20, long, 1, 5, "15 more events that were asked for: ask again with after 5, or choose fewer by steps or filter"},
		{"no room, after", 5, 0, 20, long, 6, 5, "10 more events that were asked for: ask again with after 10, or choose fewer by steps or filter"},
		{"no room for the last", 0, 8, 20, long, 16, 5, "of the last 8 events the first 3: an answer has no room for them; choose fewer by steps or filter"},
	} {
		c := &chosenEvents{after: x.after, last: x.last}
		for i := range x.events {
			if err := c.Add(&probes.Event{Seq: uint64(i) + 1, Kind: probes.Exit, Error: x.error}); err != nil {
				t.Fatal(err)
			}
		}
		var first struct{ Seq uint64 }
		if len(c.events) > 0 {
			if err := json.Unmarshal(c.events[0], &first); err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.Join(c.left(), "; "); first.Seq != x.first || len(c.events) != int(x.seqs) || got != x.left {
			t.Errorf("%s: %d events from %d on; %s", x.name, len(c.events), first.Seq, got)
		}
	}
}

// TestUnseenOf: what an agent does not see is said: probes that do not work, what no probe knows, steps that none sees.
func TestUnseenOf(t *testing.T) {
	info := newFakeAgent().About
	if got := strings.Join(unseenOf(info), "; "); got != "no probe has what the API server reports of pods, such as their conditions" {
		t.Errorf("of a woven kubelet: %s", got)
	}
	why := wire.Reason(probes.Reason{Code: "test.gone"})
	info.Probes[0].State, info.Probes[0].Reason = agentpb.ProbeState_PROBE_FAILED, why
	info.Probes = append(info.Probes, &agentpb.Probe{Name: "api", State: agentpb.ProbeState_PROBE_RETRYING, Reason: why, Knows: &agentpb.Knows{Reports: true}})
	got := strings.Join(unseenOf(info), "\n")
	for _, want := range []string{
		"the woven probe has failed: test.gone", "the api probe sees nothing now, and tries again: test.gone",
		"no probe sees the turns of the pods' workers", "no probe sees in which call a call happens", "the tool steps with seen says which, and why",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not said in\n%s", want, got)
		}
	}
	if got := evidenceOf("x", info).Probes; len(got) != 1 || !strings.HasPrefix(got[0], "api: sees 0 of") {
		t.Errorf("the evidence has the probes %v", got)
	}
}
