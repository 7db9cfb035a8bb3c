package tracing

import (
	"testing"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
)

func deletion(uid string) *probes.Event {
	return &probes.Event{Kind: probes.Exit, Step: "loop.remove", Pod: &probes.Pod{UID: uid}}
}

func states(uids ...string) (out []*agentpb.PodState) {
	for _, uid := range uids {
		out = append(out, &agentpb.PodState{Pod: &agentpb.Pod{Uid: uid}, State: "working"})
	}
	return out
}

func TestUntilDeleted(t *testing.T) {
	ending := states("a")
	ending[0].State, ending[0].Deleting = "done", true
	finished := states("a")
	finished[0].State = "done"
	for _, c := range []struct {
		name  string
		polls [][]*agentpb.PodState
		event *probes.Event
		live  bool
		want  bool
	}{
		{"not there yet", [][]*agentpb.PodState{nil, nil}, nil, false, false},
		{"alive", [][]*agentpb.PodState{states("a"), states("a")}, nil, false, false},
		{"finished, but still there", [][]*agentpb.PodState{finished, finished}, nil, false, false},
		{"went away", [][]*agentpb.PodState{states("a"), nil}, nil, false, true},
		{"its worker is done, but the API still has it", [][]*agentpb.PodState{states("a"), ending, ending}, nil, false, false},
		{"replaced", [][]*agentpb.PodState{states("a"), states("b")}, nil, false, true},
		{"one of two", [][]*agentpb.PodState{states("a", "b"), states("b")}, nil, false, true},
		{"seen live, and gone", [][]*agentpb.PodState{nil}, deletion("a"), true, true},
		{"seen live, and its containers are still killed", [][]*agentpb.PodState{states("a"), states("a")}, deletion("a"), true, false},
		{"remembered, no successor", [][]*agentpb.PodState{nil}, deletion("a"), false, true},
		{"remembered, with a successor", [][]*agentpb.PodState{states("b"), states("b")}, deletion("a"), false, false},
		{"remembered, still listed", [][]*agentpb.PodState{states("a")}, deletion("a"), false, false},
	} {
		u := UntilState("deleted")
		got := c.event != nil && u.saw(c.event, c.live)
		for _, s := range c.polls {
			got = u.polled(s) || got
		}
		if got != c.want {
			t.Errorf("%s: reached %v, want %v", c.name, got, c.want)
		}
	}
}
