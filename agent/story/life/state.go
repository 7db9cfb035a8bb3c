package life

import (
	"cmp"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
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

// texts are the states' words for people. Each says that the state goes on: behind it often stands for how long, which must
// not be read as the time that is left.
var texts = [States]probes.Text{
	Held: words.Text("held", "停住"), Stuck: words.Text("stuck", "卡住"), Retrying: words.Text("retrying", "重试中"),
	Working: words.Text("working", "处理中"), Waiting: words.Text("waiting", "等待中"), Idle: words.Text("running", "运行"),
	Done: words.Text("done", "结束"), Gone: words.Text("gone", "已消失"),
}

// Text returns the state's word for people.
func (s State) Text() probes.Text { return texts[s] }

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

// How long a pod may take before it counts as stuck.
const (
	// StuckAfter is for one step, and for a pod that nobody has begun to work on.
	StuckAfter = time.Minute
	// StuckRetrying is for a pod that fails again and again.
	StuckRetrying = 2 * time.Minute
	// StuckWaiting is for a pod that waits for its containers, beside the time that its health probes give it.
	StuckWaiting = 5 * time.Minute
	// StuckEnding is for a pod that is being deleted, beside its grace period.
	StuckEnding = 90 * time.Second
)

// DefaultGrace is the grace period of a pod that names none.
const DefaultGrace = 30 * time.Second

// quickTurn is how long a look at a pod may take before it counts: the worker looks at each pod now and then.
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

// State returns the verdict on a pod of a world at a session time, and since when it holds. While nothing moves the pod,
// that time stays what it was.
func (l *Lives) State(p *Pod, now int64) (State, int64) {
	inStep := since(p.Since, now)
	switch {
	case p.adopted.is && p.adopted.last == p.Last:
		return p.adopted.state, p.adopted.since
	case p.Holds > 0:
		return Held, l.h.TimeAt(p.HeldAt)
	case p.Former != 0:
		return Gone, p.Former
	case !p.seesTurns && p.First != 0:
		return l.stateOfCalls(p, now)
	case p.Removed && !p.Worker:
		return Gone, cmp.Or(p.GoneAt, p.Last)
	case l.Lingers(p):
		return waiting(latest(p.GoneAt, p.DeletedAt), StuckAfter, now)
	case p.Finished, p.Refused && !p.Worker:
		return Done, cmp.Or(p.GoneAt, p.waitsSince())
	case p.Turning && inStep > p.stepMayTake():
		return Stuck, p.stuckSince(now)
	case p.Failed != None:
		return failing(p.Trouble, now)
	case p.Deleting:
		return p.ending(now), p.DeletedAt
	case p.Phase.Over():
		return Done, p.waitsSince()
	case p.Blocked != None && p.turnAt == 0:
		return failing(p.Trouble, now)
	case p.loops(now):
		return Retrying, p.Trouble
	case p.busy(inStep):
		return Working, p.Since
	case !p.Worker && p.At != None && inStep > p.stepMayTake():
		return Stuck, p.Since
	case !p.Worker && p.At != None && !p.Turning:
		return Working, p.Since
	}
	return p.atRest(now)
}

// atRest returns the verdict on a pod for which nobody does anything.
func (p *Pod) atRest(now int64) (State, int64) {
	from := p.waitsSince()
	switch {
	case p.Phase == Running && p.Ready:
		return Idle, latest(p.readyFrom, p.restartedAt())
	case p.Phase == Running && p.worksOn():
		return Idle, from
	case p.untouched():
		return waiting(from, StuckAfter, now)
	}
	return waiting(from, StuckWaiting+p.patience, now)
}

// waiting returns the verdict on a pod that waits, and since when.
func waiting(from int64, longest time.Duration, now int64) (State, int64) {
	if since(from, now) > longest {
		return Stuck, from
	}
	return Waiting, from
}

// failing returns the verdict on a pod that fails, and since when.
func failing(from, now int64) (State, int64) {
	if since(from, now) > StuckRetrying {
		return Stuck, from
	}
	return Retrying, from
}

// ending returns the verdict on a pod that is being deleted.
func (p *Pod) ending(now int64) State {
	if since(p.DeletedAt, now) > cmp.Or(p.grace, DefaultGrace)+StuckEnding {
		return Stuck
	}
	return Working
}

// stepMayTake returns how long a step may take: one that ends a pod may wait for its containers.
func (p *Pod) stepMayTake() time.Duration {
	if p.Deleting {
		return StuckAfter + p.grace
	}
	return StuckAfter
}

// busy reports whether the worker does something for the pod. It does not if it only looks, as it does now and then.
func (p *Pod) busy(inStep time.Duration) bool {
	looks := p.Phase == Running || p.looked && p.Moved < p.turnAt
	return p.Turning && (inStep >= quickTurn || !looks)
}

// untouched reports whether the kubelet has done nothing yet for a pod that it should run.
func (p *Pod) untouched() bool {
	return p.Phase != Running && !p.Worker && !p.looked && !p.Sandboxed && p.Step == 0
}

// restartedAt returns when a container of the pod was last started again.
func (p *Pod) restartedAt() (at int64) {
	for i := range p.Containers {
		if c := &p.Containers[i]; c.Restarts > 0 {
			at = latest(at, c.Up)
		}
	}
	return at
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
	fails := p.Failed != None || p.Blocked != None && !p.Deleting
	switch {
	case p.Removed && p.At == None:
		return Gone, latest(p.GoneAt, p.First)
	case p.At != None && since(p.Since, now) > p.stepMayTake():
		return Stuck, p.stuckSince(now)
	case p.Ended && !p.Deleting:
		return Done, p.waitsSince()
	case !fails && !p.Deleting && p.loops(now):
		return Retrying, p.Trouble
	case fails:
		return failing(p.Trouble, now)
	case p.At != None:
		return Working, p.Since
	case l.Lingers(p):
		return waiting(p.DeletedAt, StuckAfter, now)
	case p.Deleting:
		return p.ending(now), p.DeletedAt
	case p.Phase == Running && p.reported:
		return p.atRest(now)
	case p.Phase == Running && p.Ready:
		return Idle, p.ReadyAt
	case p.Phase == Running, !p.reported:
		return Waiting, p.quietSince()
	case p.Warned != None:
		return failing(p.Trouble, now)
	}
	return waiting(p.quietSince(), StuckAfter, now)
}
