package life

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
)

// TestReportsFillIn: a probe that sees turns may not be able to read the conditions of
// a status, and may come when a worker has long been there. What the cluster reports fills
// that in.
func TestReportsFillIn(t *testing.T) {
	info := proto.CloneOf(infoOf(t, attached)) // others read the same recording
	info.Probes[0].Knows.Turns = true
	s := newScript(t, info)
	report := func(role probes.Role, fields ...*agentpb.Field) { s.call(role, fields, nil, "") }
	s.turn("", func() { s.call(probes.RoleStatus, nil, nil, "", field("phase", "Running")) })
	if got, _ := s.lives.State(s.pod(), int64(s.now)); got != Waiting {
		t.Errorf("without a word of its conditions it is %v", got)
	}
	report(probes.RoleCondition, field("type", "Ready"), field("status", "True"))
	if got, _ := s.lives.State(s.pod(), int64(s.now)); got != Idle {
		t.Errorf("Ready, it is %v", got)
	}
	report(probes.RoleGone)
	if got, _ := s.lives.State(s.pod(), int64(s.now)); got != Gone {
		t.Errorf("gone, it is %v", got)
	}
}
