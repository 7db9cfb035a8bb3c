package life

import (
	"strings"
	"time"

	"github.com/podstep/podstep/agent/story/history"
)

// State is the verdict on a pod. The worst is the lowest.
type State uint8

// The states.
const (
	Held     State = iota // a person holds it
	Stuck                 // at one step, or failing, for longer than usual
	Retrying              // waits for its next try after an error, or is in one that has not succeeded yet
	Working               // something is being done for it
	Waiting               // for something that normally comes
	Idle                  // it runs and is ready: there is nothing to do
	Done                  // it has ended, or was refused
	Gone
	States // how many there are
)

var names = [States]string{"held", "stuck", "retry", "working", "waiting", "running", "done", "gone"}

// String returns the state's word, as in the protocol and on the command line.
func (s State) String() string { return names[s] }

// StateNamed returns the state with a word; ok is false if there is none.
func StateNamed(word string) (s State, ok bool) {
	for i, n := range names {
		if n == word {
			return State(i), true
		}
	}
	return Waiting, false
}

// StuckAfter is how long one step may take before the pod counts as stuck, and StuckRetrying how long the pod may
// fail again and again before that.
const (
	StuckAfter    = time.Minute
	StuckRetrying = 2 * time.Minute
)

// quickTurn is how long a look at a pod that runs may take before it counts.
const quickTurn = time.Second

// StepOf returns the step at which a pod is: where it is held, else that of its worker's call, else where it fails,
// else the last one. Zero: there is none.
func (l *Lives) StepOf(p *Pod) history.StepID {
	switch head, ok := l.h.Header(p.HeldAt); {
	case ok:
		return l.h.EpochAt(p.HeldAt).StepOf(head.Step)
	case p.At == None && p.FailStep != 0:
		return p.FailStep
	}
	return p.Step
}

// ErrorOf returns the error with which a pod in trouble fails, as it was reported; empty: nothing is known to fail.
func (l *Lives) ErrorOf(p *Pod) string {
	if e, ok := l.h.Event(p.Blocked); ok {
		reason, _ := e.Fields["reason"].(string)
		message, _ := e.Fields["message"].(string)
		return strings.TrimSuffix(reason+": "+message, ": ")
	}
	if e, ok := l.h.Event(p.Failed); ok {
		return e.Error
	}
	if e, ok := l.h.Event(p.Warned); ok {
		return e.Error
	}
	return ""
}

// StateAt is State for the pod at a place in a world. The node, at place 0, is always idle.
func (l *Lives) StateAt(w *World, place int, now int64) (State, int64) {
	p := w.Pod(place)
	if place == 0 {
		return Idle, p.First
	}
	return l.State(p, now)
}

// State returns the verdict on a pod of a world at a session time, and since when it holds.
func (l *Lives) State(p *Pod, now int64) (State, int64) {
	inStep := since(p.Since, now)
	switch {
	case p.adopted.last != 0 && p.adopted.last == p.Last:
		return p.adopted.state, p.adopted.since
	case p.Holds > 0:
		return Held, l.h.TimeAt(p.HeldAt)
	case p.Former != 0:
		return Gone, p.Former
	case !p.seesTurns && p.First != 0:
		return l.stateOfCalls(p, now)
	case p.Removed && !p.Worker:
		return Gone, p.Last
	case l.Lingers(p):
		return Waiting, max(p.GoneAt, p.Since)
	case p.Finished, p.Refused && !p.Worker:
		return Done, max(p.GoneAt, p.Since)
	case p.Turning && inStep > StuckAfter:
		return Stuck, p.stuckSince(now)
	case p.Failed != None && since(p.Trouble, now) > StuckRetrying:
		return Stuck, p.Trouble
	case p.Failed != None:
		return Retrying, p.Trouble
	case p.Deleting:
		return Working, p.DeletedAt
	case p.Phase.Over():
		return Done, p.Since
	case p.loops(now):
		return Retrying, p.Trouble
	case p.Turning && !(p.Phase == Running && inStep < quickTurn):
		return Working, p.Since
	case !p.Worker && p.At != None && inStep > StuckAfter:
		return Stuck, p.Since
	case !p.Worker && p.At != None:
		return Working, p.Since
	case p.Phase == Running && p.Ready:
		return Idle, max(p.ReadyAt, p.First)
	}
	return Waiting, p.Since
}

// stuckSince returns since when a pod is stuck that has been in one call for long: if it was in trouble before, since
// that trouble began.
func (p *Pod) stuckSince(now int64) int64 {
	if p.inTrouble(now) {
		return min(p.Trouble, p.Since)
	}
	return p.Since
}

// loops reports whether a container of the pod is up again in a crash loop, so that it is not known yet whether this
// try succeeds.
func (p *Pod) loops(now int64) bool {
	_, ok := p.Loop(now)
	return ok
}

// stateOfCalls returns the verdict where no turns are seen, by a pod's calls and reports.
func (l *Lives) stateOfCalls(p *Pod, now int64) (State, int64) {
	quiet := max(p.Since, p.First)
	fails := p.Failed != None || p.Blocked != None && !p.Deleting
	switch {
	case p.Removed && p.At == None:
		return Gone, max(p.GoneAt, p.First)
	case p.At != None && since(p.Since, now) > StuckAfter:
		return Stuck, p.stuckSince(now)
	case p.Ended && !p.Deleting:
		return Done, quiet
	case fails && since(p.Trouble, now) > StuckRetrying:
		return Stuck, p.Trouble
	case fails, !p.Deleting && p.loops(now):
		return Retrying, p.Trouble
	case p.At != None:
		return Working, p.Since
	case l.Lingers(p):
		return Waiting, p.DeletedAt
	case p.Deleting:
		return Working, p.DeletedAt
	case p.Phase == Running && p.Ready:
		return Idle, p.ReadyAt
	case p.Phase == Running, !p.reported:
		return Waiting, quiet
	case p.Warned != None && since(p.Trouble, now) > StuckRetrying:
		return Stuck, p.Trouble
	case p.Warned != None:
		return Retrying, p.Trouble
	case since(quiet, now) > StuckAfter:
		return Stuck, quiet
	}
	return Waiting, quiet
}
