package state

import (
	"bytes"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
)

// podNow is what a pod is doing at a position. It follows from the events
// alone, one after the other, so that a place in a trace file shows what was
// known there. It is copied often, and holds places instead of texts.
type podNow struct {
	first int64 // session time of the first event
	last  int64
	at    int // span that its worker is in, or none
	step  stepID
	since int64
	held  int // span, or none
	// told is a hold that the agent told of before its event came. Never set in
	// a world, only in what is made of it for the present.
	told   *agentpb.HoldInfo
	heldAt int // position of the hold
	holds  uint8

	failed   int    // position of the event with the error of the last turn, or none
	failStep stepID // the innermost step that failed in the present turn
	tries    uint32 // turns that failed in a row; beside the kubelet, calls
	trouble  int64  // when the first of them did
	next     int64  // when the next turn is due; 0: not known
	// blocked is the report that a container of it cannot start, and warned the
	// last warning about it; positions, or none. Only beside the kubelet.
	blocked, warned int
	// finalizers is the event that lists those of a pod that is being deleted, or
	// none.
	finalizers int

	sync                                uint32
	work                                workType
	update                              uint8 // place in updateTypes
	worker, turning, finished, removed  bool
	deleting, ready, sandboxed, refused bool
	ended                               bool // its containers have, and are not started again
	bound                               bool // somebody who wants it here has told of it
	doomed                              bool // its object is being deleted
	phase                               phase
	readyAt, deletedAt, goneAt          int64
	// former is when an agent went that knew this pod, if the one that is there
	// now has not told of it; 0: it has. The pod may be of a node that is gone.
	former int64
}

// workType is what a turn of the worker is for.
type workType uint8

const (
	workUnknown workType = iota
	workSync
	workTerminating
	workTerminated
)

var workTypes = map[string]workType{"sync": workSync, "terminating": workTerminating, "terminated": workTerminated}

var updateTypes = []string{"", "create", "update", "sync", "kill"}

// phase is a pod's phase.
type phase uint8

var phases = []string{"", "Pending", "Running", "Succeeded", "Failed", "Unknown"}

const (
	phasePending phase = iota + 1
	phaseRunning
	phaseSucceeded
	phaseFailed
)

func indexOf(of []string, b []byte) uint8 {
	for i, s := range of {
		if string(b) == s {
			return uint8(i)
		}
	}
	return 0
}

var nothingYet = podNow{at: none, held: none, heldAt: none, failed: none, blocked: none, warned: none, finalizers: none}

// world is what all pods are doing at a position.
type world struct {
	at   int // position after the last event that is in it
	pods []podNow
	time int64 // session time of the last event
}

func (w *world) pod(i int) *podNow {
	for len(w.pods) <= i {
		w.pods = append(w.pods, nothingYet)
	}
	return &w.pods[i]
}

// get is pod for those who only look.
func (w *world) get(i int) *podNow {
	if i < 0 || i >= len(w.pods) {
		return &nothingYet
	}
	return &w.pods[i]
}

// restart is told that a new agent speaks: what went on in the kubelet before
// does so no more.
func (w *world) restart() {
	for i := range w.pods {
		p := &w.pods[i]
		p.at, p.held, p.heldAt, p.holds = none, none, none, 0
		p.failed, p.failStep, p.tries, p.next = none, 0, 0, 0
		p.worker, p.turning = false, false
		if i > 0 && p.first != 0 && p.former == 0 {
			p.former = max(w.time, 1)
		}
	}
}

func (w *world) clone() world {
	return world{at: w.at, pods: append([]podNow(nil), w.pods...), time: w.time}
}

// fact is an event as the world takes it.
type fact struct {
	pos  int
	h    *wire.Header
	raw  []byte
	time int64
	step stepID
	span int // none: the event is about no call
	pod  int
}

// apply takes the next event.
func (s *State) apply(w *world, f *fact) {
	e := s.epochAt(f.pos)
	if e.first == f.pos && f.pos > 0 {
		w.restart()
	}
	w.at, w.time = f.pos+1, max(w.time, f.time)
	p := w.pod(f.pod)
	if p.first == 0 || f.time < p.first { // a call may be told late
		p.first = f.time
	}
	p.last, p.former = max(p.last, f.time), 0
	switch f.h.Kind {
	case agentpb.Kind_ENTER:
		if e.beside {
			s.enteredBeside(p, f)
			break
		}
		s.entered(p, f)
	case agentpb.Kind_EXIT:
		if e.beside {
			s.leftBeside(p, f)
			break
		}
		s.left(p, f)
	case agentpb.Kind_HOLD:
		p.held, p.heldAt = f.span, f.pos
		p.holds++
	case agentpb.Kind_RELEASE:
		if p.holds > 0 {
			p.holds--
		}
		if p.holds == 0 || p.held == f.span {
			p.held, p.heldAt = none, none
		}
	}
}

func (s *State) entered(p *podNow, f *fact) {
	sp := s.spans.at(f.span)
	if sp == nil {
		return
	}
	switch s.steps.role(f.step) {
	case roleWorker:
		p.worker, p.finished = true, false
		return
	case roleTurn:
		p.turning, p.next, p.failStep = true, 0, 0
		p.sync = f.h.Sync
		if t := lookup(f.raw, "workType"); t.ok {
			p.work = workTypes[string(t.text)]
		}
		p.update = indexOf(updateTypes, lookup(f.raw, "updateType").text)
		if p.work == workTerminating || p.work == workTerminated {
			p.delete(f.time)
		}
	case roleNext:
		if d := lookup(f.raw, "delay"); d.kind == fieldDuration {
			p.next = f.time + d.num
		}
	case roleUpdate:
		if lookup(f.raw, "deletionGracePeriod").ok || string(lookup(f.raw, "updateType").text) == "kill" {
			p.delete(f.time)
		}
	case roleCanDelete:
		p.delete(f.time)
		p.doom(f)
	case roleLife:
		return
	}
	if sp.worker || !p.worker {
		p.at, p.step, p.since = f.span, f.step, f.time
	}
}

func (p *podNow) delete(t int64) {
	if !p.deleting {
		p.deleting, p.deletedAt = true, t
	}
}

func (s *State) left(p *podNow, f *fact) {
	switch s.steps.role(f.step) {
	case roleWorker:
		p.worker, p.turning, p.finished, p.at, p.goneAt = false, false, true, none, f.time
		return
	case roleTurn:
		s.turned(p, f)
		return
	case roleStatus:
		p.setStatus(f)
	case roleMerge:
		switch string(lookup(f.raw, "op").text) {
		case "DELETE":
			p.delete(f.time)
			p.doomed = true
		case "REMOVE":
			p.removed = true
		case "ADD":
			p.removed, p.doomed, p.finalizers = false, false, none
		}
	case roleRemove:
		p.removed = true
	case roleAdmit:
		if a := lookup(f.raw, "admitted"); a.kind == fieldFlag {
			p.refused = !a.flag()
		}
	case roleSandbox:
		p.sandboxed = p.sandboxed || !f.h.HasError
	case roleEnd:
		p.finished = true
	}
	sp := s.spans.at(f.span)
	if f.h.HasError && p.failStep == 0 && sp != nil && sp.worker && p.turning {
		p.failStep = f.step
	}
	if p.at == f.span && sp != nil {
		p.up(s, sp, f.time)
	}
}

// up goes back to the call that the one that has ended was made from.
func (p *podNow) up(s *State, sp *span, now int64) {
	parent := s.spans.at(sp.parent)
	if parent == nil || s.steps.role(parent.step) == roleLife || s.steps.role(parent.step) == roleWorker {
		p.at, p.since = none, now
		return
	}
	p.at, p.step, p.since = sp.parent, parent.step, now
}

func (s *State) turned(p *podNow, f *fact) {
	p.turning, p.at, p.since = false, none, f.time
	if f.h.HasError {
		if p.tries == 0 {
			p.trouble = f.time
		}
		p.tries++
		p.failed = f.pos
		return
	}
	p.tries, p.failed, p.failStep = 0, none, 0
}

var readyTrue = []byte(`"Ready":"True"`)

func (p *podNow) setStatus(f *fact) {
	if ph := lookup(f.raw, "phase"); ph.ok {
		p.phase = phase(indexOf(phases, ph.text))
	}
	if c := lookup(f.raw, "conditions"); c.ok {
		p.ready = bytes.Contains(c.text, readyTrue)
		if p.ready && p.readyAt == 0 {
			p.readyAt = f.time
		}
	}
}

func since(from, to int64) time.Duration { return time.Duration(max(0, to-from)) }
