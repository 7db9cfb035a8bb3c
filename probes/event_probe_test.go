package probes

import (
	"reflect"
	"testing"
)

func TestProbeState(t *testing.T) {
	fields := func(all ...string) map[string]any {
		out := map[string]any{}
		for i := 0; i < len(all); i += 2 {
			out[all[i]] = all[i+1]
		}
		return out
	}
	for _, c := range []struct {
		event Event
		state string
		why   Reason
		side  string
	}{
		{event: Event{Kind: Note, Fields: fields("state", "running")}, state: "running"},
		{event: Event{Kind: Note, Fields: fields("state", "failed", "reason", "error", "error", "no")}, state: "failed", why: Reason{"error", map[string]string{"error": "no"}}},
		{event: Event{Kind: Exit, Step: "reported.container", Span: 3, Fields: fields("state", "running")}},
		{event: Event{Kind: Note, Fields: fields("text", "the runtime was restarted")}},
		{event: Event{Kind: Note, Step: "cri.StopContainer", Span: 3, Fields: fields("seen", "exit")}, side: "exit"},
		{event: Event{Kind: Enter, Step: "cri.StopContainer", Span: 3, Fields: fields("seen", "exit")}},
	} {
		state, why, is := c.event.ProbeState()
		if state != c.state || is != (c.state != "") || !reflect.DeepEqual(why, c.why) {
			t.Errorf("%+v: %q, %+v, %v", c.event, state, why, is)
		}
		if side, is := c.event.Sight(); is != (c.side != "") || is && side != c.side {
			t.Errorf("%+v: seen %q, %v", c.event, side, is)
		}
	}
}
