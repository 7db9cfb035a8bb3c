package agent

import (
	"errors"
	"strings"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/server"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/probes"
)

var snapshot = &agentpb.AddBreakpointRequest_Snapshot{Snapshot: &agentpb.SnapshotAction{}}

// stacks returns the events of a pod that have a stack, with the frames.
func (r *rig) stacks(pod string) (events []*agentpb.Event, frames [][]wire.Frame) {
	d := wire.NewDecoder(r.info())
	for _, e := range r.events(pod) {
		shown := d.Event(eventtest.Encode(e))
		if all := wire.Stack(&shown); all != nil {
			events, frames = append(events, e), append(frames, all)
		}
	}
	return events, frames
}

// TestSnapshot: a call that fails has its stack in the story, with the calls around it and their values. Nobody is held,
// and what went well has no stack.
func TestSnapshot(t *testing.T) {
	r := newRig(t, Options{})
	p := newPod("default", "web")
	b, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Step: "sync.*", On: agentpb.On_ON_ERROR, Action: snapshot})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Step: "loop.add", Action: snapshot}); err != nil {
		t.Errorf("at a step where nobody is held: %v", err)
	}
	if r.holds.Armed() != 0 {
		t.Error("the probes are told to prepare for stops")
	}
	_ = r.sync(p, func() error {
		_ = r.call("sync.volumes", []any{p}, nil, nil)
		return r.call("sync.volumes", []any{p}, nil, func() error { return errors.New("no such volume") })
	})
	events, frames := r.stacks("web")
	if len(events) == 0 {
		t.Fatal("there is no stack")
	}
	if events[0].Error != "no such volume" || events[0].Span == 0 {
		t.Errorf("the first stack is of %v", events[0])
	}
	var steps []string
	for _, f := range frames[0] {
		steps = append(steps, f.Step)
	}
	if got := strings.Join(steps, " "); !strings.HasPrefix(got, "sync.volumes sync.pod") {
		t.Errorf("the steps are %q", got)
	}
	if r.kinds(p, agentpb.Kind_HOLD) != 0 {
		t.Error("somebody was held")
	}
	r.points.Remove(b.Id)
	if r.points.Remove(2); r.points.Snaps() {
		t.Error("a stack is wanted without a breakpoint")
	}
}

// TestSnapshotFromOutside: a call that a probe sees from outside has its stack, made of the steps around it.
func TestSnapshotFromOutside(t *testing.T) {
	r := newRig(t, Options{})
	p := newPod("default", "web")
	if _, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Step: "sync.volumes", On: agentpb.On_ON_ERROR, Action: snapshot}); err != nil {
		t.Fatal(err)
	}
	outer := r.Begin(Seen{Step: "sync.pod", At: time.Now(), Values: []any{p}, Goroutine: 7})
	inner := r.Begin(Seen{Step: "sync.volumes", At: time.Now(), Values: []any{p}, Goroutine: 7, Parent: outer, Line: 2010})
	inner.End(time.Now(), errors.New("no such volume"), nil)
	outer.End(time.Now(), nil, nil)
	_, frames := r.stacks("web")
	if len(frames) != 1 || len(frames[0]) != 2 || frames[0][1].Step != "sync.pod" || frames[0][1].Line != 2010 {
		t.Errorf("the stack is %v", frames)
	}
}

// TestSnapshotsAreBounded: however often calls fail, an agent keeps only so many stacks in a second, and counts the others.
func TestSnapshotsAreBounded(t *testing.T) {
	r := newRig(t, Options{})
	p := newPod("default", "web")
	b, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Step: "sync.volumes", Action: snapshot})
	if err != nil {
		t.Fatal(err)
	}
	const calls = 10 * snapshotBurst
	begun := time.Now()
	for range calls {
		_ = r.call("sync.volumes", []any{p}, nil, nil)
	}
	most := snapshotBurst + int(time.Since(begun).Seconds()*snapshotRate) + 1
	listed, err := r.svc.ListBreakpoints(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := listed.Breakpoints[0]
	if got.Id != b.Id || int(got.Hits) > most || got.Hits+got.Missed != calls {
		t.Errorf("%d stacks were kept and %d were not; at most %d may be", got.Hits, got.Missed, most)
	}
}

// TestSnapshotOfNoCall: a step that is no call of a function has no stack, and the answer says so.
func TestSnapshotOfNoCall(t *testing.T) {
	r := newRig(t, Options{Probes: []probes.Abilities{{Probe: "api", Steps: map[string]probes.Ability{"cluster.bound": {Entry: true, Exit: true}}}}})
	_, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Step: "cluster.bound", Action: snapshot})
	if err == nil || !strings.Contains(reason.Error(err).En, "it has no stack") {
		t.Errorf("the answer is %v", err)
	}
}

// oneSnapshot makes the events of a call whose stack is kept.
func oneSnapshot(r *rig) []*agentpb.Event {
	_, _ = r.addBreakpoint(&agentpb.AddBreakpointRequest{Step: "sync.volumes", Action: snapshot})
	p := newPod("default", "web")
	_ = r.sync(p, func() error { return r.call("sync.volumes", []any{p}, nil, nil) })
	events, _ := r.stacks("web")
	return events
}

// BenchmarkSnapshot is what a stack costs the goroutine that it is of.
func BenchmarkSnapshot(b *testing.B) {
	a := benchAgent(b)
	a.snapshotRate.SetLimit(rate.Inf)
	spec := &agentpb.AddBreakpointRequest{Step: "sync.pod", On: agentpb.On_ON_EXIT, Action: snapshot}
	if _, err := a.addBreakpoint(b.Context(), spec, b.Context(), server.Asker{}); err != nil {
		b.Fatal(err)
	}
	p := newPod("default", "web")
	for b.Loop() {
		_, _ = wovenStep(p, "sync")
	}
}
