package explain

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/agent/trace/tracetest"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// TestWhereabouts: events of a pod lead to the cause, or the whereabouts, that is wanted.
func TestWhereabouts(t *testing.T) {
	bound := call{step: "cluster.bound"}
	role := func(r probes.Role) string { return probes.MustLoad().OfRole(r)[0].Name }
	for name, c := range map[string]struct {
		file  string
		calls []call
		want  string
	}{
		"no worker yet":   {woven, []call{{step: role(probes.RoleMerge), fields: []*agentpb.Field{field("op", "ADD")}}}, "where.waitsForWorker"},
		"in a call":       {attached, []call{bound, {step: "cri.RunPodSandbox", open: true}}, "where.waitsInCall"},
		"a call fails":    {attached, []call{bound, {step: "cri.RunPodSandbox", err: "no\nreason"}}, "general.fails"},
		"warned":          {attached, []call{bound, {step: "reported.event", fields: []*agentpb.Field{field("type", "Warning"), field("reason", "Odd"), field("message", "nobody knows")}}}, "general.warned"},
		"blocked":         {attached, []call{bound, {step: "reported.container", fields: []*agentpb.Field{field("container", "a"), field("state", "waiting"), field("reason", "ErrImagePull"), field("message", "no")}}}, "image.failed"},
		"deleted":         {attached, []call{bound, {step: "cluster.deleting"}}, "where.deleting"},
		"bound":           {attached, []call{bound}, "where.quietBound"},
		"has its sandbox": {attached, []call{bound, {step: "cri.RunPodSandbox"}}, "where.quietSandbox"},
		"gone":            {attached, []call{bound, {step: "cluster.gone"}}, "where.goneCluster"},
	} {
		t.Run(name, func(t *testing.T) {
			info, _, err := tracetest.Read(c.file)
			if err != nil {
				t.Fatal(err)
			}
			s := storyOf(t, info, c.calls)
			r := s.explained(1, s.positionAfter(s.History.End()-1))
			if got := r.Main(); got.Cause.ID != c.want {
				t.Errorf("%s, %s: %q", r.Word(), got.Cause.ID, r.Summary(words.English))
			}
		})
	}
}

// TestUnknown: a pod that the former agent knew and the new one does not know yet is unknown.
func TestUnknown(t *testing.T) {
	info, _, err := tracetest.Read(attached)
	if err != nil {
		t.Fatal(err)
	}
	s := storyOf(t, info, []call{{step: "cluster.bound"}})
	other := proto.CloneOf(info)
	other.Pid++
	s.History.SetInfo(other)
	s.Lives.Restart()
	if r := s.explained(1, Position{s.History.End(), s.Lives.Now().Time}); r.Whereabouts.Cause.ID != "where.agentUnknown" || r.State != life.Gone {
		t.Errorf("%s: %s", r.Word(), r.Whereabouts.Cause.ID)
	}
}

// TestOwnHold: a hold that the reader of the story asked for is named as such, and another's by its process.
func TestOwnHold(t *testing.T) {
	for _, c := range []struct {
		you  *agentpb.Peer
		want string
	}{
		{&agentpb.Peer{Uid: 1001, Pid: 7}, "as you asked"}, {&agentpb.Peer{Uid: 1001, Pid: 8}, "as process 7 of user 1001 asked"}, {nil, "as process 7 of user 1001 asked"},
	} {
		info, _, err := tracetest.Read(woven)
		if err != nil {
			t.Fatal(err)
		}
		info = proto.CloneOf(info)
		info.You = c.you
		s := storyOf(t, info, []call{{step: "sync.pod", open: true}})
		s.History.Add(eventtest.Batch(&agentpb.Event{
			Kind: agentpb.Kind_HOLD, Seq: 2, Mono: 2e6, Time: 1e18 + 2e6, Pod: 1, Step: eventtest.Step(info, "sync.pod"), Span: 1,
			Fields: []*agentpb.Field{field("on", "enter"), field("uid", int64(1001)), field("pid", int64(7))},
		}), s.Lives.Apply)
		if got := s.explained(1, s.positionAfter(s.History.End()-1)).Summary(words.English); !strings.Contains(got, c.want) {
			t.Errorf("%v: %q", c.you, got)
		}
	}
}
