package life

import (
	"testing"
	"time"

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

// TestTroubleFromBefore: podstep attaches while a container waits for its back-off. Until a turn is seen, the report
// states what fails, and since when; then the turn does.
func TestTroubleFromBefore(t *testing.T) {
	info := proto.CloneOf(infoOf(t, attached))
	info.Probes[0].Knows.Turns = true
	s := newScript(t, info)
	object := []*agentpb.Field{field("from", "object"), field("since", "1969-12-31T23:00:00Z")}
	s.call(probes.RoleBound, object, nil, "")
	s.call(probes.RoleContainerState, append(object, field("container", "a"), field("state", "waiting"), field("reason", "CrashLoopBackOff")), nil, "a cannot start")
	s.call(probes.RoleSandboxState, []*agentpb.Field{field("ready", true)}, nil, "")
	if got, since := s.lives.State(s.pod(), int64(s.now)); got != Retrying && got != Stuck || since >= 0 {
		t.Errorf("it is %v since %v", got, since)
	}
	s.turn("", func() { s.call(probes.RoleStatus, nil, nil, "", field("phase", "Running")) })
	if why := s.lives.ErrorOf(s.pod()); why != "" {
		t.Errorf("after a turn that did well it fails with %q", why)
	}
}

// TestClocksFromBefore: what an object states is from before podstep attached, and so are the clocks, with a probe that
// sees turns and without one.
func TestClocksFromBefore(t *testing.T) {
	object := []*agentpb.Field{field("from", "object"), field("since", "1969-12-31T23:00:00Z")}
	for _, turns := range []bool{true, false} {
		for name, c := range map[string]struct {
			report func(*script)
			want   State
		}{
			"ready": {func(s *script) {
				s.call(probes.RoleCondition, append(object, field("type", "Ready"), field("status", "True")), nil, "")
			}, Idle},
			"unready": {func(s *script) {
				s.call(probes.RoleCondition, append(object, field("type", "Ready"), field("status", "False")), nil, "")
			}, Stuck},
			"deleting": {func(s *script) { s.call(probes.RoleDeleting, append(object, field("grace", int64(5))), nil, "") }, Stuck},
		} {
			info := proto.CloneOf(infoOf(t, attached))
			for _, p := range info.Probes {
				p.Knows.Turns = turns
			}
			s := newScript(t, info)
			s.call(probes.RoleBound, object, nil, "")
			s.call(probes.RolePhase, append(object, field("phase", "Running")), nil, "")
			c.report(s)
			s.now += time.Minute
			if got, since := s.lives.State(s.pod(), int64(s.now)); got != c.want || since >= 0 {
				t.Errorf("%s, turns seen: %v: it is %v since %v", name, turns, got, time.Duration(since))
			}
		}
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
