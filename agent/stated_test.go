package agent

import (
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// logged returns the ability of a probe that only reads.
func logged() probes.Abilities {
	out := seesAll()[0].As("log")
	for name, can := range out.Steps {
		can.HoldEnter, can.HoldExit, can.Fail = false, false, false
		out.Steps[name] = can
	}
	return out
}

// TestStated publishes calls as a log states them.
func TestStated(t *testing.T) {
	r := newRig(t, Options{Probes: []probes.Abilities{logged()}})
	log := r.Probe("log")
	pod := probes.PodRef{UID: "u1", Namespace: "default", Name: "web"}
	at := r.started.Add(time.Second)
	turn := log.BeginStated(Stated{Step: "worker.turn", At: at, Pod: pod, Fields: []wire.Field{wire.Text("workType", "sync")}})
	volumes := log.BeginStated(Stated{Step: "sync.volumes", At: at, Pod: pod, Parent: turn})
	volumes.EndStated(at.Add(time.Millisecond), "no mount", nil)
	log.BeginStated(Stated{Step: "rt.sandbox", At: at, Pod: pod, BeginUnseen: true}).EndStated(at, "", nil)
	turn.EndStated(at.Add(time.Second), "", []wire.Field{wire.Flag(probes.FieldEndUnseen, true)})
	if c := log.BeginStated(Stated{Step: "sync.pod", At: at}); c != nil {
		t.Error("a call of no pod is begun")
	}
	if c := log.BeginStated(Stated{Step: "no.step", At: at, Pod: pod}); c != nil {
		t.Error("a call of no step is begun")
	}
	type event struct {
		kind   agentpb.Kind
		step   string
		err    string
		took   time.Duration
		inTurn bool
		fields int
	}
	var got []event
	var turnSpan uint64
	for _, e := range r.events("web") {
		step := r.c.Steps[e.Step-1].Name
		if step == "worker.turn" {
			turnSpan = e.Span
		}
		got = append(got, event{e.Kind, step, e.Error, time.Duration(e.Duration), e.Parent == turnSpan && turnSpan != 0, len(e.Fields)})
	}
	enter, exit := agentpb.Kind_ENTER, agentpb.Kind_EXIT
	want := []event{
		{enter, "worker.turn", "", 0, false, 1},
		{enter, "sync.volumes", "", 0, true, 0},
		{exit, "sync.volumes", "no mount", time.Millisecond, true, 0},
		{exit, "rt.sandbox", "", 0, false, 0},  // when it began was not seen
		{exit, "worker.turn", "", 0, false, 1}, // how it ended was not seen
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("event %d of %+v", i, got)
		}
	}
}

// TestStatedSame is about a call that the cri probe has seen, too: the story has it once.
func TestStatedSame(t *testing.T) {
	r := newRig(t, Options{Probes: append(inAndOut()[1:], logged())})
	p := newPod("default", "web")
	cri, log := r.Probe("cri"), r.Probe("log")
	at := r.started.Add(time.Second)
	call := cri.Begin(Seen{Step: "cri.RunPodSandbox", At: at, Values: []any{sandboxOf(p), sandboxOf(p), "runc"}})
	call.End(at.Add(time.Second), nil, []any{false, "s1"})
	ref := probes.PodRef{UID: string(p.UID), Namespace: "default", Name: "web"}
	again := log.BeginStated(Stated{Step: "cri.RunPodSandbox", At: at.Add(time.Millisecond), Pod: ref})
	again.EndStated(at.Add(999*time.Millisecond), "", []wire.Field{wire.Text("podSandboxID", "s1")})
	kinds := map[agentpb.Kind]int{}
	for _, e := range r.events("web") {
		kinds[e.Kind]++
	}
	if kinds[agentpb.Kind_ENTER] != 1 || kinds[agentpb.Kind_EXIT] != 1 || kinds[agentpb.Kind_NOTE] != 2 {
		t.Errorf("events: %v", kinds)
	}
	if r.Owner("s1") != p.UID {
		t.Errorf("the sandbox belongs to %q", r.Owner("s1"))
	}
}
