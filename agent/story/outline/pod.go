package outline

import (
	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/history"
)

// None stands for no item, no turn, no span and no event, as in package history.
const None = history.None

// Pod is a pod with the outline of its story. Place 0 is the node itself.
type Pod struct {
	*history.Pod
	Place int // in the history's pods
	Items history.List[Item]
	Turns history.List[Turn]
	Marks []Mark
	Notes history.List[Note]
	// Segments are as of the last event; As returns those of an earlier position.
	Segments
	// Revision grows when segments change that lie before the last Settled ones.
	Revision int
	// Names has the names of the pod's containers, by id. Bound is the call that reports which containers it has, or
	// None. They are set only where no turns are seen.
	Names map[string]string
	Bound int

	// statuses has the phases, each ready or not, in which the pod has been: a turn that brings a new one is
	// eventful.
	statuses uint16
}

// Item is one thing at the outermost level of a pod's story: a call within no other call, a turn of the worker, or a
// note.
type Item struct {
	Pos         int // position of its first event
	Span        int // the call; of a turn: the first of its calls
	First, Last int // its calls are among these of the pod's spans
	Turn        int // place in Turns, or None
	Fault       int // the call in it that failed first, or None
	Sub         uint32
	Quiet       Quiet
}

// Quiet is whether an item is worth a row by itself, or why not.
type Quiet uint8

const (
	Loud    Quiet = iota
	Report        // a report that adds nothing to others
	Routine       // a call that only looks
)

// Turn is one turn of the pod's worker, from reading its mailbox until the time
// of the next turn is set.
type Turn struct {
	Item       int
	Span, Work int // the turn's own call, and the call that does its work, such as SyncPod
	Done       int // position of its end, or None
	Eventful   bool
	Failed     bool
	Ended      bool   // nothing more belongs to it
	Same       uint64 // equal in turns that try the same thing; 0: nothing to compare
	Kind       Kind
	Sandboxes  bool // it made a sandbox
	Changes    []Change
}

// Kind is what a turn of the worker is for, by what is expected to happen in it.
type Kind uint8

const (
	Create Kind = iota // a sync of a pod that has no sandbox yet
	Sync
	Terminating
	Terminated
	Kinds // how many there are
)

// Change is something that a turn changed.
type Change struct {
	Pos  int
	What Changed
	Of   string // the container, or the phase
}

// Changed is what a turn changed.
type Changed uint8

const (
	SandboxMade Changed = iota
	ContainerStarted
	ContainerStopped
	PhaseSet
	PhaseSetReady // the phase was set, and the pod is ready
)

// maxChanges bounds the changes that are noted of one turn.
const maxChanges = 6

func (t *Turn) changed(pos int, what Changed, of string) {
	if len(t.Changes) < maxChanges {
		t.Changes = append(t.Changes, Change{pos, what, of})
	}
}

// Note is an event that is no call: a hold, a release, a fault, a loss.
type Note struct {
	Pos  int
	Kind agentpb.Kind
	Span int // the call that it is about, or None
}

// Chapter is a part of a pod's life.
type Chapter uint8

const (
	Creation Chapter = iota
	Running
	Termination
)

// Mark says that a chapter begins with an item.
type Mark struct {
	Item    int
	Chapter Chapter
	Pos     int // of the event that showed it
	At      int64
}

// ChapterOf returns the chapter to which an item belongs, as of a position; zero means by now.
func (p *Pod) ChapterOf(item, at int) Chapter {
	c := Creation
	for _, m := range p.Marks {
		if m.Item <= item && (at == 0 || m.Pos < at) {
			c = m.Chapter
		}
	}
	return c
}

// TurnAt returns the turn that is the item; nil: the item is no turn.
func (p *Pod) TurnAt(item int) *Turn {
	if it := p.Items.At(item); it != nil {
		return p.Turns.At(it.Turn)
	}
	return nil
}

// TurnOf returns the turn to which a call belongs, or nil.
func (p *Pod) TurnOf(sp *history.Span) *Turn {
	if sp == nil {
		return nil
	}
	return p.TurnAt(sp.Item)
}

// Container returns the name of a container, or its id if no call has shown the name.
func (p *Pod) Container(id string) string {
	if name, ok := p.Names[id]; ok {
		return name
	}
	return id
}

// Settled is how many segments at the end of an outline may still change without
// Revision growing.
const Settled = 3

// touched is called when an item has changed.
func (p *Pod) touched(item int) {
	if g := p.Segments.list.At(p.Segments.list.End() - Settled); g != nil && item < g.First {
		p.Revision++
	}
}
