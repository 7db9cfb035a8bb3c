package life

import (
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
)

// TestReportsFillIn: a probe that sees turns may be unable to read the conditions of a status, and may attach long
// after a worker has begun. Reports of the cluster fill that in.
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

// TestLeftovers: a pod of which PLEG finds nothing more in the runtime is gone, unless a report or its worker wants it
// here.
func TestLeftovers(t *testing.T) {
	cache := func(s *script, gone bool) {
		s.call(probes.RoleCache, []*agentpb.Field{field("gone", gone)}, nil, "")
	}
	for name, x := range map[string]struct {
		do   func(*script)
		want bool
	}{
		"long gone":                {func(s *script) { cache(s, true) }, true},
		"changed":                  {func(s *script) { cache(s, false) }, false},
		"bound here":               {func(s *script) { s.call(probes.RoleBound, nil, nil, ""); cache(s, true) }, false},
		"seen by its worker":       {func(s *script) { s.turn("", func() { cache(s, true) }) }, false},
		"it had ended":             {func(s *script) { s.worker(func() {}); cache(s, true) }, false},
		"seen by its worker later": {func(s *script) { cache(s, true); s.turn("", func() {}) }, false},
	} {
		info := proto.CloneOf(infoOf(t, attached))
		info.Probes[0].Knows.Turns = true
		s := newScript(t, info)
		x.do(s)
		if got, _ := s.lives.State(s.pod(), int64(s.now)); (got == Gone) != x.want {
			t.Errorf("%s: it is %v", name, got)
		}
	}
}
