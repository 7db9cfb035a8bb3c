package tracing

import (
	"path"
	"slices"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
)

// Until is what a trace waits for. Events show it first. The state of the pods shows what no event does.
type Until interface {
	// String completes "the pod is ...".
	String() string
	// Steps are globs over the steps that must be watched.
	Steps() []string
	// saw takes an event; live is false for events that the agent remembered.
	saw(e *probes.Event, live bool) (reached bool)
	// asks reports whether the state of the pods is of any use. polled takes that state.
	asks() bool
	polled(pods []*agentpb.PodState) (reached bool)
}

// Untils are the states that a pod can be waited for in.
var Untils = []string{"ready", "deleted", "held"}

// UntilState returns the wait for one of Untils; nil: state is none.
func UntilState(state string) Until {
	switch state {
	case "ready":
		return untilReady{}
	case "deleted":
		return &untilDeleted{gone: map[string]bool{}, alive: map[string]bool{}}
	case "held":
		return untilHeld{}
	}
	return nil
}

// UntilStep waits for a pod to enter a step that the glob matches.
func UntilStep(glob string) Until { return untilStep(glob) }

// statusSteps show when the kubelet has something new to say about a pod.
const statusSteps = "status.*"

type untilReady struct{}

func (untilReady) String() string               { return "ready" }
func (untilReady) Steps() []string              { return []string{statusSteps} }
func (untilReady) saw(*probes.Event, bool) bool { return false }
func (untilReady) asks() bool                   { return true }
func (untilReady) polled(p []*agentpb.PodState) bool {
	for _, s := range p {
		if s.Ready && !s.Deleting {
			return true
		}
	}
	return false
}

type untilHeld struct{}

func (untilHeld) String() string  { return "held" }
func (untilHeld) Steps() []string { return []string{"*"} }
func (untilHeld) asks() bool      { return true }

// saw ignores remembered holds: they may be long over.
func (untilHeld) saw(e *probes.Event, live bool) bool { return live && e.Kind == probes.Held }

func (untilHeld) polled(p []*agentpb.PodState) bool {
	for _, s := range p {
		if len(s.Holds) > 0 {
			return true
		}
	}
	return false
}

type untilStep string

func (u untilStep) String() string                { return "at " + string(u) }
func (u untilStep) Steps() []string               { return []string{string(u)} }
func (untilStep) asks() bool                      { return false }
func (untilStep) polled([]*agentpb.PodState) bool { return false }
func (u untilStep) saw(e *probes.Event, _ bool) bool {
	ok, _ := path.Match(string(u), e.Step)
	return ok && e.Kind == probes.Enter
}

// untilDeleted waits for the end of a pod that was there. The kubelet has taken the pod out of
// its lists, because the API server or the pod's file has it no more, and its worker has ended.
// A pod whose end is remembered counts if it left no successor of the same name.
type untilDeleted struct {
	gone, alive map[string]bool
}

func (*untilDeleted) String() string { return "deleted" }
func (*untilDeleted) Steps() (names []string) {
	for _, s := range probes.MustLoad().OfRole(probes.RoleRemove) {
		names = append(names, s.Name)
	}
	return names
}
func (*untilDeleted) asks() bool { return true }

// saw alone does not reach the end: a pod that is deleted without grace is gone from the API
// server before its containers are stopped.
func (u *untilDeleted) saw(e *probes.Event, _ bool) bool {
	if e.Pod != nil && e.Kind == probes.Exit && slices.Contains(u.Steps(), e.Step) {
		u.gone[e.Pod.UID] = true
	}
	return false
}

// polled takes the states of the pods that the agent still lists.
func (u *untilDeleted) polled(pods []*agentpb.PodState) bool {
	listed := map[string]bool{}
	for _, s := range pods {
		listed[s.Pod.GetUid()] = true
	}
	for uid := range u.alive {
		if !listed[uid] {
			return true
		}
	}
	u.alive = listed
	return len(listed) == 0 && len(u.gone) > 0
}
