package agentpb_test

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/podstep/podstep/agent/agentpb"
)

func TestEnd(t *testing.T) {
	seconds := func(n int64) *durationpb.Duration { return &durationpb.Duration{Seconds: n} }
	budget := func(n int64) *agentpb.Budget { return &agentpb.Budget{Timer: "syncTimeout", Left: seconds(n)} }
	for _, c := range []struct {
		hold  *agentpb.HoldInfo
		in    time.Duration
		timer string
	}{
		{&agentpb.HoldInfo{Lease: seconds(300), Ends: seconds(300), EndsBy: "lease"}, 300 * time.Second, ""},
		{&agentpb.HoldInfo{Lease: seconds(300), Budget: budget(60), Ends: seconds(50), EndsBy: "syncTimeout"}, 50 * time.Second, "syncTimeout"},
		{nil, 0, ""},
	} {
		if in, timer := c.hold.End(); in != c.in || timer != c.timer {
			t.Errorf("%v ends in %v by %q, want %v by %q", c.hold, in, timer, c.in, c.timer)
		}
	}
}
