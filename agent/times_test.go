package agent

import (
	"testing"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/journal"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/probes"
)

// maker is a function of the agent that makes events of a kind, and a way to make it do so.
type maker struct {
	function string
	kind     agentpb.Kind
	make     func(*rig) []*agentpb.Event
}

// makers are all functions of the agent that make events.
var makers = []maker{
	{"Agent.putNew", agentpb.Kind_ENTER, oneTurn},
	{"Agent.putExit", agentpb.Kind_EXIT, oneTurn},
	{"Agent.hold", agentpb.Kind_HOLD, oneHold},
	{"Agent.hold", agentpb.Kind_RELEASE, oneHold},
	{"Agent.stopByBreakpoint", agentpb.Kind_FAULT, oneFault},
	{"Agent.missBreakpoint", agentpb.Kind_NOTE, oneMiss},
	{"Agent.snap", agentpb.Kind_NOTE, oneSnapshot},
	{"Agent.logFor", agentpb.Kind_NOTE, oneLog},
	{"Agent.logInside", agentpb.Kind_NOTE, oneLogInside},
	{"Agent.beginRetry", agentpb.Kind_NOTE, oneRetry},
	{"Agent.noteBackOff", agentpb.Kind_NOTE, oneRetry},
	{"Agent.Note", agentpb.Kind_NOTE, func(r *rig) []*agentpb.Event {
		return r.streamed(func() { r.Note("the runtime was restarted") })
	}},
	{"Probe.report", agentpb.Kind_NOTE, func(r *rig) []*agentpb.Event {
		return r.streamed(func() { r.probes[0].State(agentpb.ProbeState_PROBE_STOPPED, probes.Reason{}) })
	}},
	{"Agent.putSight", agentpb.Kind_NOTE, twoSights},
}

// TestEventsHaveTimes: every event has a time, whichever function makes it.
func TestEventsHaveTimes(t *testing.T) {
	for _, m := range makers {
		t.Run(m.function+" "+m.kind.String(), func(t *testing.T) {
			r := newRig(t, Options{})
			eventtest.CheckTimes(t, m.make(r), m.kind, r.started)
		})
	}
}

// TestMakersAreAll: makers has every function of the agent that makes events.
func TestMakersAreAll(t *testing.T) {
	var known []string
	for _, m := range makers {
		known = append(known, m.function)
	}
	eventtest.CheckMakers(t, "journal.Event", known)
}

func oneTurn(r *rig) []*agentpb.Event {
	_ = r.sync(newPod("default", "web"), nil)
	return r.events("web")
}

func oneHold(r *rig) []*agentpb.Event {
	p := newPod("default", "web")
	done := make(chan error, 1)
	_, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Pods: sel(p), Step: "sync.pod", Times: 1})
	if err != nil {
		r.t.Fatal(err)
	}
	go func() { done <- r.sync(p, nil) }()
	r.held(p).Release("test")
	<-done
	return r.events("web")
}

func oneFault(r *rig) []*agentpb.Event {
	p := newPod("default", "web")
	for _, spec := range []*agentpb.AddBreakpointRequest{
		{Action: &agentpb.AddBreakpointRequest_Fail{Fail: "no"}},
		{Action: &agentpb.AddBreakpointRequest_Delay{Delay: durationpb.New(1)}},
	} {
		spec.Pods, spec.Step = sel(p), "sync.pod"
		if _, err := r.addBreakpoint(spec); err != nil {
			r.t.Fatal(err)
		}
		_ = r.sync(p, nil)
	}
	return r.events("web")
}

// streamed returns what a watcher of the node is given when something happens.
func (r *rig) streamed(something func()) []*agentpb.Event {
	w := r.watcher(&agentpb.WatchRequest{Node: true})
	defer w.Close()
	something()
	r.journal.Put(journal.Event{Kind: agentpb.Kind_NOTE, Err: "more"}) // what was lost is reported with the next event
	var out []*agentpb.Event
	for {
		if out = append(out, r.next(w)...); len(out) > 1 {
			return out
		}
	}
}

// oneMiss lets a pod pass a breakpoint for want of room.
func oneMiss(r *rig) []*agentpb.Event {
	r.reserveAll()
	p := newPod("default", "web")
	if _, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Step: "sync.pod"}); err != nil {
		r.t.Fatal(err)
	}
	_ = r.sync(p, nil)
	return r.events(p.Name)
}
