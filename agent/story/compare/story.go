// Package compare lays the stories of two pods side by side, or a part of them, such as
// the creation: where the time went in each, which steps only one of them has, and the
// first place where they part.
//
// Each moment of a part counts for one step: the innermost call of the pod's worker, or of a goroutine for which the
// worker waits then. So the times of all steps, of the waits between them and of holds add up to the part's. The time
// of a hold counts for no step.
package compare

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/outline"
	"github.com/podstep/podstep/probes"
)

// Key identifies the same step in two pods: by the step, and by the container, image or volume that it is about. The
// zero Key stands for the time outside of any call.
type Key struct{ Step, Of string }

// Step is a call in the part of a story that is compared.
type Step struct {
	Key
	Turn   int // place in the story's turns
	Begin  time.Duration
	Took   time.Duration // its own time, without calls in it and without holds
	Failed bool
	Error  string
	// OffWorker: it ran on another goroutine, so its place among the others has no meaning.
	OffWorker bool
	// Notable steps tell stories apart; others are the same in most.
	Notable bool
}

// Turn has the steps of one turn of the worker, or those before the first or after the last turn. Where no probe sees
// turns, all are in one.
type Turn struct {
	Kind  string // "": before the first; afterLast: after the last; unseen: no turns are seen
	N     int
	Steps []int
}

// The kinds of a Turn that is none of the worker, besides "".
const (
	afterLast = "after"
	unseen    = "calls"
)

// Story is a part of what happened to a pod.
type Story struct {
	Pod  probes.Pod
	Part Part
	// Begun is false if the pod has not come to the part. Then the story has nothing else.
	Begun bool
	// Took is how long the part took, or has taken if it is not Done. Held is for how much of that a person held the
	// pod.
	Took, Held time.Duration
	Done       bool
	Turns      []Turn
	Steps      []Step
	// Outside is the time in no call: mostly between two turns.
	Outside time.Duration
	// Cut: there were more than mostSteps calls.
	Cut bool
}

// mostSteps bounds the calls of a story that are looked at.
const mostSteps = 20000

// Of reads a part of the story of the pod at a place, as of a moment.
func Of(h *history.History, o *outline.Outlines, place int, part Part, as Moment) *Story {
	p := o.Pod(place)
	r := reader{h: h, o: o, p: p, place: place, at: as.At, story: &Story{Pod: p.Entity, Part: part}, index: map[int]int{}, images: map[string]string{}, turns: map[int]int{}}
	if r.story.Begun = r.bounds(as); r.story.Begun {
		r.story.Done = r.end < as.Now
		r.read()
	}
	return r.story
}

type reader struct {
	h     *history.History
	o     *outline.Outlines
	p     *outline.Pod
	place int
	at    int
	end   int64
	story *Story
	begin int64
	fixed bool // begin is the beginning of a chapter, not of the first call
	// finished is when the worker finished the pod; 0: it has not.
	finished int64
	came     bool // a turn of the part has come
	spent    []interval
	// index has the place of each call's step, images the container for which an image is pulled, and turns the place
	// of each of the worker's turns in the story.
	index   map[int]int
	parents []int // by step: the step around it, or the one that waited for it
	images  map[string]string
	turns   map[int]int
	// waits has the last call in which the worker waited for others, by the stage of these.
	waits map[string]interval
}

// interval is a time in which a step was under way; step -1 is a hold.
type interval struct {
	from, to int64
	step     int
}

func (r *reader) read() {
	first := !r.fixed
	r.waits = map[string]interval{}
	r.story.Turns = []Turn{{}}
	if r.noTurns() {
		r.story.Turns[0].Kind = unseen
	}
	for i := r.p.Spans.First; i < r.p.Spans.End(); i++ {
		ref := *r.p.Spans.At(i)
		sp := r.h.Span(ref)
		if sp == nil || sp.Enter >= r.at || sp.Shape == history.NoEnter || r.o.IsLife(sp.Step) || r.h.Reported(sp.Step) {
			continue
		}
		if sp.Start > r.end || r.fixed && sp.Start < r.begin && sp.Over(r.at) && sp.End <= r.begin {
			continue
		}
		if r.closely(sp) {
			if i := r.around(sp); i >= 0 {
				r.index[ref] = i
			}
			continue
		}
		if len(r.story.Steps) >= mostSteps {
			r.story.Cut = true
			break
		}
		if first || sp.Start < r.begin {
			r.begin, first = sp.Start, false
		}
		r.addCall(ref, sp)
	}
	if first {
		return
	}
	r.holds()
	r.story.Took = time.Duration(max(r.end-r.begin, 0))
	r.sweep()
	for i := range r.story.Steps {
		s := &r.story.Steps[i]
		s.Begin -= time.Duration(r.begin)
		r.story.Turns[s.Turn].Steps = append(r.story.Turns[s.Turn].Steps, i)
	}
	r.story.Turns = slices.DeleteFunc(r.story.Turns, func(t Turn) bool { return len(t.Steps) == 0 })
	for n, t := range r.story.Turns {
		for _, i := range t.Steps {
			r.story.Steps[i].Turn = n
		}
	}
}

// closely reports whether the call was seen only because somebody watched the pod closely. Such a call counts as a part of the
// one around it, so that a comparison is the same whoever watched which pod.
func (r *reader) closely(sp *history.Span) bool {
	after := sp.Enter + 1
	return r.h.Step(sp.Step).Tier() != 1 && r.h.EpochBefore(after).OnlyClosely(sp.Step, after)
}

// addCall makes a step of a call, if the pod waits for it.
func (r *reader) addCall(ref int, sp *history.Span) {
	call := r.h.Call(ref, r.at)
	_, within := r.index[sp.Parent]
	to := r.end
	if sp.Over(r.at) {
		to = min(sp.End, r.end)
	}
	if !sp.Worker && !within && !r.waitedFor(sp) && !r.before(sp) && !r.after(sp) {
		return
	}
	from := sp.Start
	if r.fixed {
		from = max(from, r.begin)
	}
	up := r.h.Span(sp.Parent)
	s := Step{Key: Key{r.h.Step(sp.Step).Name, r.subject(&call)}, OffWorker: !sp.Worker || up != nil && up.Over(r.at) && up.End <= sp.Start, Begin: time.Duration(from), Failed: sp.Failed && sp.Over(r.at), Turn: r.turn(sp)}
	if s.Failed {
		s.Error = call.Err
		// A call often fails because a call in it did. That one shows why.
		for up := r.around(sp); up >= 0; up = r.parents[up] {
			r.story.Steps[up].Failed, r.story.Steps[up].Error = false, ""
		}
	}
	about := r.h.Step(sp.Step)
	s.Notable = s.Failed || about.Tier() == 1 && !about.Means().Routine
	n := len(r.story.Steps)
	r.index[ref] = n
	r.parents = append(r.parents, r.around(sp))
	r.story.Steps = append(r.story.Steps, s)
	r.spent = append(r.spent, interval{from, to, n})
	switch r.h.Role(sp.Step) {
	case probes.RolePullWait:
		r.waits["image"] = interval{sp.Start, to, n}
	case probes.RoleVolumes:
		r.waits["volume"] = interval{sp.Start, to, n}
	}
}

// around returns the step in which a call happened, or that waited for it; -1: there is none.
func (r *reader) around(sp *history.Span) int {
	if i, is := r.index[sp.Parent]; is {
		return i
	}
	if !sp.Worker && r.waitedFor(sp) {
		return r.waits[r.h.Step(sp.Step).Stage].step
	}
	return -1
}

// waitedFor reports whether the worker waits for a call of another goroutine.
func (r *reader) waitedFor(sp *history.Span) bool {
	w, is := r.waits[r.h.Step(sp.Step).Stage]
	return is && sp.Start >= w.from && sp.Start <= w.to
}

// turn returns the place of the turn in which a call happened, or during which the worker waited for it.
func (r *reader) turn(sp *history.Span) int {
	if !sp.Worker {
		if i, is := r.index[sp.Parent]; is {
			return r.story.Steps[i].Turn
		}
		if w, is := r.waits[r.h.Step(sp.Step).Stage]; is && sp.Start <= w.to {
			return r.story.Steps[w.step].Turn
		}
		if r.after(sp) {
			return r.lastTurn()
		}
		return 0
	}
	t := r.p.TurnOf(sp)
	if t == nil {
		return len(r.story.Turns) - 1
	}
	n, is := r.turns[t.Item]
	r.came = r.came || !r.fixed || sp.Start >= r.begin
	if !is {
		n = len(r.story.Turns)
		r.turns[t.Item] = n
		r.story.Turns = append(r.story.Turns, Turn{Kind: kinds[t.Kind]})
	}
	r.story.Turns[n].N = max(r.story.Turns[n].N, int(sp.Sync))
	return n
}

// lastTurn returns the place of the Turn for what comes after the last turn.
func (r *reader) lastTurn() int {
	n := len(r.story.Turns) - 1
	if r.story.Turns[n].Kind != afterLast {
		r.story.Turns = append(r.story.Turns, Turn{Kind: afterLast})
		n++
	}
	return n
}

var kinds = [outline.Kinds]string{outline.Create: string(probes.TurnCreate), outline.Sync: string(probes.TurnSync), outline.Terminating: string(probes.TurnTerminating), outline.Terminated: string(probes.TurnTerminated)}

// subject returns what a call is about, in a word that is the same for another pod: an image, a volume, or a
// container, which may be that of the call around it.
func (r *reader) subject(c *history.Call) string {
	container := c.Text("container")
	if container == "" {
		if id := c.Text("containerID"); id != "" && r.p.Names[id] != "" {
			container = r.p.Names[id]
		}
	}
	if i, is := r.index[c.Parent]; is && container == "" && strings.HasPrefix(r.story.Steps[i].Of, containerMark) {
		container = strings.TrimPrefix(r.story.Steps[i].Of, containerMark)
	}
	image := c.Text("image")
	switch {
	case container != "" && image != "":
		r.images[image] = container
	case container == "" && image != "" && r.images[image] != "":
		container = r.images[image]
	}
	switch {
	case container != "":
		return containerMark + container
	case image != "":
		return "image " + image
	}
	if v := c.Text("volume"); v != "" {
		return "volume " + volumeName(v)
	}
	return ""
}

const containerMark = "container "

// volumeName returns the name of a volume without the part that differs from pod to pod.
func volumeName(v string) string {
	v = strings.Trim(v, "[]\"")
	if strings.HasPrefix(v, "kube-api-access-") {
		return "kube-api-access"
	}
	return v
}

// holds finds when the pod was held.
func (r *reader) holds() {
	open := map[int]int64{}
	add := func(from, to int64) {
		if from, to = max(from, r.begin), min(to, r.end); from < to {
			r.spent = append(r.spent, interval{from, to, -1})
		}
	}
	for i := r.p.Notes.First; i < r.p.Notes.End(); i++ {
		n := r.p.Notes.At(i)
		if n.Pos >= r.at {
			break
		}
		t := r.h.TimeAt(n.Pos)
		switch n.Kind {
		case agentpb.Kind_HOLD:
			open[n.Span] = t
		case agentpb.Kind_RELEASE:
			if from, is := open[n.Span]; is {
				add(from, t)
				delete(open, n.Span)
			}
		}
	}
	for _, from := range open {
		add(from, r.end)
	}
}

// sweep counts each moment of the part for a hold, or else for the step that began last among those under way.
func (r *reader) sweep() {
	type edge struct {
		at   int64
		ends bool
		n    int
	}
	var edges []edge
	for n, i := range r.spent {
		if i.from < i.to {
			edges = append(edges, edge{i.from, false, n}, edge{i.to, true, n})
		}
	}
	slices.SortStableFunc(edges, func(a, b edge) int { return cmp.Compare(a.at, b.at) })
	var open []int // by their beginnings
	last := r.begin
	for _, e := range edges {
		r.give(open, time.Duration(e.at-last))
		last = e.at
		if e.ends {
			open = slices.DeleteFunc(open, func(n int) bool { return n == e.n })
		} else {
			open = append(open, e.n)
		}
	}
	r.story.Outside += time.Duration(max(r.end-last, 0))
}

func (r *reader) give(open []int, d time.Duration) {
	if d <= 0 {
		return
	}
	if len(open) == 0 {
		r.story.Outside += d
		return
	}
	for _, n := range open {
		if r.spent[n].step < 0 {
			r.story.Held += d
			return
		}
	}
	r.story.Steps[r.spent[open[len(open)-1]].step].Took += d
}
