package fleet

import (
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
)

// State is how a node answers.
type State int

const (
	// Connecting: the agent has not answered yet, and need not have.
	Connecting State = iota
	// Live: the agent answers.
	Live
	// Flooding: the agent answers, and sends more events than podstep reads. It drops those for which there is no room.
	Flooding
	// Silent: a process listens and does not answer.
	Silent
	// Denied: this user may not speak to the agent.
	Denied
	// Unlike: the agent is of a version that does not know what is asked.
	Unlike
	// Gone: no agent answers there, or none any more.
	Gone
)

// Answers reports whether the pods of a node in this state are those of now.
func (s State) Answers() bool { return s == Live || s == Flooding }

// Status is what is known of one node. Its slices and messages are never changed once they are in it.
type Status struct {
	// Index is the place of the node among those that are followed.
	Index int
	Name  string
	Place string
	State State
	// Why is why the node does not answer, a sentence in each language (package reason); nil if it does.
	Why error
	// Since is when the node came into its state.
	Since time.Time
	// About is what the agent reported of itself when it answered last; nil if none ever has.
	About *agentpb.InfoResponse
	// Agents is how many agents have answered here one after the other: more than one if the agent was started again.
	Agents int
	// Pods is what the pods were doing at the time At. Those of a node that does not answer are from before.
	Pods []*agentpb.PodState
	At   time.Time
	// Events and Bytes count what the agents have sent.
	Events, Bytes uint64
}

// stateOf returns the state of a node for the error that ended a connection, or the try to make one.
func stateOf(err error) State {
	switch {
	case silent(err):
		return Silent
	case client.KindOf(err) == client.Denied:
		return Denied
	case status.Code(err) == codes.Unimplemented:
		return Unlike
	}
	return Gone
}

// another reports whether a message is from another agent than the one before: another process, or one with the same
// number that was started at another time.
func another(before, now *agentpb.InfoResponse) bool {
	return before == nil || before.GetPid() != now.GetPid() || before.GetStarted().AsTime() != now.GetStarted().AsTime()
}

// Counts is how many nodes are in each state.
type Counts map[State]int

// Count counts the nodes by their states.
func Count(all []Status) Counts {
	c := Counts{}
	for i := range all {
		c[all[i].State]++
	}
	return c
}

// Named returns the node of that name, or nil.
func Named(all []Status, name string) *Status {
	i := slices.IndexFunc(all, func(s Status) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &all[i]
}
