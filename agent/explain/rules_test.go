package explain

import (
	"encoding/json"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/agent/trace/tracetest"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// call is a call of a step by one pod, with its fields at both ends.
type call struct {
	step   string
	fields []*agentpb.Field
	err    string
	open   bool // it goes on
}

var field = eventtest.Field

// storyOf returns the story of one pod, a millisecond for each event, with an agent like that
// of a recording.
func storyOf(t *testing.T, info *agentpb.InfoResponse, calls []call) Story {
	t.Helper()
	h := history.New(info, probes.MustLoad())
	lives := life.New(h)
	b := &agentpb.Batch{Pods: []*agentpb.Pod{{Id: 1, Namespace: "default", Name: "web", Uid: "u"}}}
	add := func(e *agentpb.Event) {
		e.Seq = uint64(len(b.Events)) + 1
		e.Mono, e.Time, e.Pod = int64(e.Seq)*1e6, 1e18+int64(e.Seq)*1e6, 1
		b.Events = append(b.Events, eventtest.Encode(e))
	}
	for i, c := range calls {
		step := eventtest.Step(info, c.step)
		add(&agentpb.Event{Kind: agentpb.Kind_ENTER, Step: step, Span: uint64(i) + 1, Fields: c.fields})
		if !c.open {
			add(&agentpb.Event{Kind: agentpb.Kind_EXIT, Step: step, Span: uint64(i) + 1, Fields: c.fields, Error: c.err})
		}
	}
	h.Add(b, lives.Apply)
	return Story{h, lives}
}

// TestRules: events of a pod lead to the finding that is wanted, and its row has the words that are wanted.
func TestRules(t *testing.T) {
	bound := call{step: "cluster.bound"}
	role := func(r probes.Role) string { return probes.MustLoad().OfRole(r)[0].Name }
	for name, c := range map[string]struct {
		file  string
		calls []call
		code  Code
		brief string
	}{
		"refused": {woven, []call{{step: role(probes.RoleAdmit), fields: []*agentpb.Field{field("admitted", false), field("reason", "OutOfcpu")}}},
			RefusedReason, "the kubelet refused it"},
		"no worker yet": {woven, []call{{step: role(probes.RoleMerge), fields: []*agentpb.Field{field("op", "ADD")}}}, WaitingWorker, ""},
		"in a call":     {attached, []call{bound, {step: "cri.RunPodSandbox", open: true}}, CallFor, ""},
		"a call fails":  {attached, []call{bound, {step: "cri.RunPodSandbox", err: "no\nnetwork"}}, CallFails, "RunPodSandbox: no network"},
		"it does again": {attached, []call{bound, {step: "cri.RunPodSandbox", err: "a"}, {step: "cri.RunPodSandbox", err: "b"}}, CallFails, "RunPodSandbox: b, 2nd try"},
		"warned": {attached, []call{bound, {step: "reported.event", fields: []*agentpb.Field{field("type", "Warning"), field("reason", "FailedMount"), field("message", "no volume")}}},
			Warned, "FailedMount: no volume"},
		"blocked": {attached, []call{bound, {step: "reported.container", fields: []*agentpb.Field{field("container", "a"), field("state", "waiting"), field("reason", "ErrImagePull")}}},
			ContainerBlocked, "ErrImagePull: image pull failed"},
		"deleted": {attached, []call{bound, {step: "cluster.deleting"}}, Deleting, ""},
		"deleted by the node": {attached, []call{bound, {step: "cluster.deleting", fields: []*agentpb.Field{field("finalizers", json.RawMessage(`["a/b","c"]`))}}},
			Deleting, "waits for finalizers: a/b, c"},
		"bound":           {attached, []call{bound}, QuietBound, ""},
		"has its sandbox": {attached, []call{bound, {step: "cri.RunPodSandbox"}}, QuietSandbox, ""},
		"gone":            {attached, []call{bound, {step: "cluster.gone"}}, GoneCluster, ""},
	} {
		t.Run(name, func(t *testing.T) {
			info, _, err := tracetest.Read(c.file)
			if err != nil {
				t.Fatal(err)
			}
			s := storyOf(t, info, c.calls)
			at := s.positionAfter(s.History.End() - 1)
			f, brief := Findings(s, 1, at)[0], ""
			whole(t, &f)
			if row := Trouble(s, 1, at); row != nil {
				whole(t, row)
				brief = row.Brief(words.English)
			}
			if f.Code != c.code || brief != c.brief {
				t.Errorf("%s: %q; in a list %q", f.Code, f.Text(words.English), brief)
			}
		})
	}
}

// TestUnknown: a pod that the former agent knew and the new one does not know yet is unknown.
// The node is no such pod.
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
	if f := Findings(s, 1, Position{s.History.End(), s.Lives.Now().Time})[0]; f.Code != AgentUnknown || f.State != life.Gone {
		t.Errorf("%+v", f)
	}
	if f := Findings(s, 0, Position{s.History.End(), s.Lives.Now().Time})[0]; f.Code != Node || f.State != life.Idle {
		t.Errorf("%+v", f)
	}
}
