package life

import (
	"cmp"
	"time"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/wire"
)

// None stands for no span and no event, as in package history.
const None = history.None

// Pod is what a pod is doing at a position. It follows from the events alone, so
// that a place in a trace file shows what was known there. It is copied often,
// and holds positions instead of texts. Times are session times.
type Pod struct {
	First, Last int64 // times of its first and its latest event; First is 0 if there is none
	At          int   // the call that its worker is in, or None
	Step        history.StepID
	Since       int64 // when it came to Step, or left it
	Held        int   // the call at which it is held, or None
	HeldAt      int   // position of the event of that hold, or None
	Holds       uint8

	Failed   int            // position of the event with the error of the last turn, or None
	FailStep history.StepID // the innermost step that failed in the present turn
	Tries    uint32         // turns that failed in a row at the same step; of a probe that sees no turns, calls
	Trouble  int64          // when its present trouble began; see inTrouble
	Next     int64          // when the next turn is due; 0: not known
	// Blocked is the report that a container of the pod cannot start, and Warned the last warning about the pod;
	// positions, or None. They are set only where no turns are seen.
	Blocked, Warned int
	// blocked are the reports of other containers that cannot start, oldest first. It
	// is replaced, not changed: copies of the pod share it.
	blocked []int
	// Finalizers is the position of the event that lists the finalizers of a pod that is being deleted, or None.
	Finalizers int
	// Containers are the containers that the kubelet tried to start. Pulls are the images that it pulls in vain,
	// where no turns are seen. Neither list is ever changed: it is replaced.
	Containers []Container
	Pulls      []Pull

	Sync                                uint32
	Work                                Work
	Update                              uint8 // place in Updates
	Phase                               Phase
	Worker, Turning, Finished, Removed  bool
	leftover                            bool // Removed: PLEG finds nothing more of it in the runtime
	Deleting, Ready, Sandboxed, Refused bool
	Ended                               bool // its containers have ended, and are not started again
	Bound                               bool // a source that wants it on this node has reported it
	Doomed                              bool // its object is being deleted
	ReadyAt, DeletedAt, GoneAt          int64
	// Moved is when the pod last came a step further, or lost one: a container was started, its phase or its readiness
	// changed, what had failed works. A turn of the worker that finds nothing to do moves nothing. 0: not known.
	Moved int64
	// Former is when an earlier agent that knew this pod went, if the present agent has not reported the pod; 0: it
	// has. The pod may be of a node that is gone.
	Former int64

	readyFrom int64         // since when it is ready; it means nothing unless Ready
	readiness bool          // whether it is ready is known
	turnAt    int64         // when the present turn of its worker began
	looked    bool          // a turn has ended
	grace     time.Duration // that its deletion allows it; 0: not known
	patience  time.Duration // that its health probes take at most until it is ready
	mayEnd    bool          // its containers are not started again once they have succeeded

	trying   string         // the container that the worker is about to start
	failing  int64          // when the first call that failed in the present turn began, or ended; 0: none failed
	failStep history.StepID // the step at which the turn or call before failed

	adopted   verdict
	sandbox   uint32 // the number of its sandbox; 0: none is known
	seesTurns bool   // the probe that reported it last sees turns
	reported  bool   // that probe also reports what the cluster says of the pod
}

// verdict is the agent's own verdict on a pod whose whole story is not known.
type verdict struct {
	state State
	since int64
	last  int64 // the verdict holds while the pod's latest event has this time; 0: no event of the pod is here
	is    bool  // there is a verdict
}

var nothingYet = Pod{At: None, Held: None, HeldAt: None, Failed: None, Blocked: None, Warned: None, Finalizers: None}

// Work is what a turn of the worker is for.
type Work uint8

// The kinds of work, as the kubelet's PodWorkType has them.
const (
	WorkUnknown Work = iota
	WorkSync
	WorkTerminating
	WorkTerminated
)

var works = map[string]Work{"sync": WorkSync, "terminating": WorkTerminating, "terminated": WorkTerminated}

// Updates are the kubelet's SyncPodTypes.
var Updates = []string{"", "create", "update", "sync", "kill"}

// Phase is a pod's phase, a place in Phases.
type Phase uint8

// Phases are the names of phases. The first stands for an unknown phase.
var Phases = []string{"", "Pending", "Running", "Succeeded", "Failed", "Unknown"}

// The phases.
const (
	Pending Phase = iota + 1
	Running
	Succeeded
	Failed
)

func (p Phase) String() string { return Phases[p] }

// Over reports whether none of the pod's containers will run any more.
func (p Phase) Over() bool { return p == Succeeded || p == Failed }

func indexOf(of []string, b []byte) uint8 {
	for i, s := range of {
		if string(b) == s {
			return uint8(i)
		}
	}
	return 0
}

// refs returns the positions of the events to which the pod refers.
func (p *Pod) refs() [5]int {
	return [...]int{p.HeldAt, p.Failed, p.Blocked, p.Warned, p.Finalizers}
}

// restart is called when the events of a new agent begin: nothing that went on in the kubelet before goes on.
func (p *Pod) restart(last int64) {
	p.At, p.Held, p.HeldAt, p.Holds, p.adopted = None, None, None, 0, verdict{}
	p.loseTurn()
	if p.First != 0 && p.Former == 0 {
		p.Former = max(last, 1)
	}
}

// loseTurn is called when no probe sees any more how the worker's turn ends, or whether the next one goes well.
func (p *Pod) loseTurn() {
	p.works()
	p.Next, p.Containers, p.Pulls = 0, nil, nil
	p.Worker, p.Turning, p.looked, p.trying = false, false, false, ""
}

func (p *Pod) delete(t int64) {
	if !p.Deleting {
		p.Deleting, p.DeletedAt = true, t
	}
}

// deleteWithin is delete with the seconds that the containers get to end. The last request has 0: it removes the object.
func (p *Pod) deleteWithin(t int64, grace wire.Value) {
	p.delete(t)
	if n, ok := grace.Number(); ok {
		p.grace = max(p.grace, time.Duration(n)*time.Second)
	}
}

// moves notes that the pod came further, or lost a step.
func (p *Pod) moves(t int64) {
	if p.Moved == 0 || t > p.Moved {
		p.Moved = t
	}
}

// waitsSince returns since when a pod waits that does.
func (p *Pod) waitsSince() int64 { return cmp.Or(p.Moved, p.First) }

// quietSince returns since when nothing has moved a pod, and no call has been made for it.
func (p *Pod) quietSince() int64 { return latest(p.waitsSince(), p.Since) }

// latest returns the latest of some times; 0 is no time. What an object states may be from before the session, and then
// is less than 0.
func latest(times ...int64) (last int64) {
	for _, t := range times {
		if t != 0 && (last == 0 || t > last) {
			last = t
		}
	}
	return last
}

// phaseIs takes the pod's phase. The first one that is known is no change.
func (p *Pod) phaseIs(to Phase, t int64) {
	if p.Phase != 0 && to != p.Phase {
		p.moves(t)
	}
	p.Phase = to
}

// readyIs takes whether the pod is ready since a time.
func (p *Pod) readyIs(ready bool, t int64) {
	if p.readiness && ready != p.Ready {
		p.moves(t)
	}
	if ready && !p.Ready {
		p.readyFrom = t
	}
	p.Ready, p.readiness = ready, true
	if ready && p.ReadyAt == 0 {
		p.ReadyAt = t
	}
}

func since(from, to int64) time.Duration { return history.Since(from, to) }
