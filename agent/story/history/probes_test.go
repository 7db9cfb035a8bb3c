package history

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/probes"
)

// began is when the agents of these tests began.
var began = time.Unix(1_800_000_000, 0)

// agentOf makes the Info of an agent whose probes are in these states since a second.
func agentOf(since int, states ...agentpb.ProbeState) *agentpb.InfoResponse {
	info := &agentpb.InfoResponse{Pid: 1, Started: timestamppb.New(began), Steps: []*agentpb.Step{{Name: "sync.pod", Abilities: []*agentpb.Ability{{Entry: true, Exit: true}}}}}
	for i, st := range states {
		info.Probes = append(info.Probes, &agentpb.Probe{
			Name: fmt.Sprint("p", i), State: st, Since: timestamppb.New(began.Add(time.Duration(since) * time.Second)), Knows: &agentpb.Knows{Turns: i == 0},
		})
	}
	return info
}

// eventAt makes an event at a second.
func eventAt(second int, e *agentpb.Event) []byte {
	e.Seq, e.Mono = uint64(second), int64(second)*1e9
	e.Time = began.UnixNano() + e.Mono
	return eventtest.Encode(e)
}

// isNow makes an event about the new state of a probe.
func isNow(second int, probe uint32, state string) []byte {
	return eventAt(second, &agentpb.Event{Kind: agentpb.Kind_NOTE, Probe: probe, Fields: []*agentpb.Field{eventtest.Field("state", state)}})
}

func enter(second int) []byte {
	return eventAt(second, &agentpb.Event{Kind: agentpb.Kind_ENTER, Step: 1, Span: uint64(second)})
}

// states returns the states of all probes at each position.
func states(h *History) (out []string) {
	for pos := h.First(); pos <= h.End(); pos++ {
		var all []string
		for _, p := range h.EpochBefore(pos).Probes(pos) {
			all = append(all, wire.StateName(p))
		}
		out = append(out, strings.Join(all, " "))
	}
	return out
}

func TestProbeStates(t *testing.T) {
	running, failed, retrying := agentpb.ProbeState_PROBE_RUNNING, agentpb.ProbeState_PROBE_FAILED, agentpb.ProbeState_PROBE_RETRYING
	for name, c := range map[string]struct {
		info   *agentpb.InfoResponse
		events [][]byte
		want   string
	}{
		"by events":             {agentOf(0, running, running), [][]byte{enter(1), isNow(2, 2, "retrying"), enter(3), isNow(4, 2, "running")}, "running running|running running|running retrying|running retrying|running running"},
		"a failed one stays so": {agentOf(0, running), [][]byte{isNow(1, 1, "failed"), isNow(2, 1, "running")}, "running|failed|failed"},
		"by Info, later":        {agentOf(3, failed, retrying), [][]byte{enter(1), enter(2), enter(3), enter(4)}, "running running|running running|failed retrying|failed retrying|failed retrying"},
		"by Info, not yet":      {agentOf(9, failed), [][]byte{enter(1), enter(2)}, "running|running|failed"},
		"of no probe":           {agentOf(0, running), [][]byte{isNow(1, 7, "failed"), isNow(2, 1, "blue")}, "running|running|running"},
	} {
		t.Run(name, func(t *testing.T) {
			h := New(c.info, probes.MustLoad())
			h.Add(&agentpb.Batch{Events: c.events}, nil)
			if got := strings.Join(states(h), "|"); got != c.want {
				t.Errorf("the states are\n%s, want\n%s", got, c.want)
			}
		})
	}
}

// TestSameAgentAgain: an Info of the same agent brings the present states of its probes.
func TestSameAgentAgain(t *testing.T) {
	h := New(agentOf(0, agentpb.ProbeState_PROBE_RUNNING), probes.MustLoad())
	h.Add(&agentpb.Batch{Events: [][]byte{enter(1), enter(2)}}, nil)
	if h.SetInfo(agentOf(2, agentpb.ProbeState_PROBE_FAILED)) {
		t.Fatal("it is taken for another agent")
	}
	if got := strings.Join(states(h), "|"); got != "running|running|failed" {
		t.Errorf("the states are %s", got)
	}
	if h.Knows(1).Turns != true || h.Knows(2).Turns {
		t.Errorf("known is %v, then %v", h.Knows(1), h.Knows(2))
	}
	if sp := h.Span(0); !sp.Over(2) || sp.Shape != NoExit {
		t.Errorf("a call that only it saw goes on: %+v", sp)
	}
}

// TestStatesForget: states and sights are kept for as long as the events that need them.
func TestStatesForget(t *testing.T) {
	h := New(agentOf(0, agentpb.ProbeState_PROBE_RUNNING, agentpb.ProbeState_PROBE_RUNNING), probes.MustLoad())
	h.SetLimit(1 << 16)
	var all [][]byte
	for i := 1; i < 40_000; i += 4 {
		all = append(all, enter(i), eventAt(i+1, &agentpb.Event{Kind: agentpb.Kind_NOTE, Step: 1, Span: uint64(i), Fields: []*agentpb.Field{eventtest.Field("seen", "enter")}}),
			eventAt(i+2, &agentpb.Event{Kind: agentpb.Kind_EXIT, Step: 1, Span: uint64(i)}), isNow(i+3, 2, []string{"retrying", "running"}[i/4%2]))
	}
	h.Add(&agentpb.Batch{Events: all}, nil)
	kept := h.End() - h.First()
	if h.First() == 0 || len(h.epoch.states) > kept/4+2 || len(h.sights) > kept/4+spanChunk {
		t.Errorf("of %d events there are %d states, and sights of %d calls", kept, len(h.epoch.states), len(h.sights))
	}
	if got := h.Sights(h.spans.end-1, h.End()); len(got) != 1 {
		t.Errorf("the last call has the sights %v", got)
	}
}
