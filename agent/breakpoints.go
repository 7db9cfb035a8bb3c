package agent

import (
	"context"
	"errors"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/journal"
	"github.com/podstep/podstep/agent/pods"
	"github.com/podstep/podstep/agent/server"
	"github.com/podstep/podstep/agent/values"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes/hook"
)

// maxBreakpoints bounds the list that every step goes through.
const maxBreakpoints = 256

// breakpoint says what is to happen when a pod comes to a step.
type breakpoint struct {
	id      uint32
	spec    *agentpb.AddBreakpointRequest
	pods    *pods.Selector
	steps   map[int]bool
	refused []*agentpb.Refused
	expires time.Time
	seen    uint32 // times it applied, with those skipped by after
	hits    uint32 // times it acted
	timer   *time.Timer
	// The breakpoint is removed when client is done. forget stops the waiting for that.
	client context.Context
	forget func() bool
	by     server.Asker
	missed uint32  // pods that passed because there was no room for one more hold, snapshot or log
	seq    uint64  // of the last event before it was set
	found  []Found // the places that spec.at names; none for a breakpoint at steps
	log    *logAction
	idle   bool // it acts nowhere in the present kubelet; Agent.renewing guards it
}

// breakpoints is the table of the breakpoints.
type breakpoints struct {
	mu    sync.RWMutex
	last  uint32
	all   map[uint32]*breakpoint
	armed func(int32)
	snapshots
	logs
}

// addBreakpoint checks a breakpoint and adds it.
func (a *Agent) addBreakpoint(ctx context.Context, spec *agentpb.AddBreakpointRequest, client context.Context, by server.Asker) (*agentpb.Breakpoint, error) {
	_, logs := spec.GetAction().(*agentpb.AddBreakpointRequest_Log)
	if err := a.mayAct(); err != nil && (!logs || spec.GetAt() != "") {
		return nil, err
	}
	var b *breakpoint
	var err error
	if spec.GetAt() != "" {
		b, err = a.newBreakpointAt(ctx, spec)
	} else {
		b, err = a.newBreakpoint(spec)
	}
	if err != nil {
		return nil, err
	}
	b.client, b.by, b.spec.Message = client, by, by.Message
	out, err := a.putBreakpoint(b)
	if err == nil {
		a.holds.announce()
	}
	return out, err
}

func (a *Agent) putBreakpoint(b *breakpoint) (*agentpb.Breakpoint, error) {
	t := &a.points
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.all) >= maxBreakpoints {
		return nil, refused(agentpb.Problem_TOO_MANY_BREAKPOINTS, args{"count": strconv.Itoa(len(t.all))})
	}
	if t.all == nil {
		t.all = map[uint32]*breakpoint{}
	}
	t.armed = a.holds.arm
	t.last++
	b.id, b.seq = t.last, a.journal.Last()
	t.all[b.id] = b
	t.arm(b, 1)
	b.timer = hook.AfterFunc(time.Until(b.expires), func() { t.remove(b.id) })
	b.forget = hook.AfterDone(b.client, func() { t.remove(b.id) })
	return a.protoOf(b), nil
}

// side returns the side of a call on which the breakpoint acts.
func (b *breakpoint) side() int {
	if b.spec.GetOn() != agentpb.On_ON_ENTER || b.spec.GetSlowerThan() != nil {
		return exit
	}
	return enter
}

func (a *Agent) newBreakpoint(spec *agentpb.AddBreakpointRequest) (*breakpoint, error) {
	if err := a.limits().check(spec); err != nil {
		return nil, err
	}
	sel, err := pods.NewSelector(spec.GetPods())
	if err != nil {
		return nil, err
	}
	ids, err := a.matchSteps(spec.GetStep())
	if err != nil {
		return nil, err
	}
	b := &breakpoint{spec: proto.CloneOf(spec), pods: sel, steps: map[int]bool{}}
	if b.log, err = newLogAction(spec); err != nil {
		return nil, err
	}
	side := b.side()
	if b.fails() && side == exit {
		return nil, invalid(agentpb.Problem_FAIL_ON_EXIT, nil)
	}
	var why *agentpb.Problem
	for _, id := range ids {
		s := &a.steps[id]
		if no := a.whyNotAt(s, b); no != nil {
			why = no
			b.refused = append(b.refused, &agentpb.Refused{Step: s.Name, Problem: no})
			continue
		}
		b.steps[id] = true
	}
	if len(b.steps) == 0 {
		return nil, refusedFor(why, agentpb.Problem_NO_STEP_ALLOWS, args{"on": sideNames[side], "step": spec.GetStep()})
	}
	b.setLimits()
	return b, a.checkLog(b)
}

// setLimits bounds the breakpoint's life: a fault acts once unless the request says otherwise, and every breakpoint
// expires.
func (b *breakpoint) setLimits() {
	switch b.spec.GetAction().(type) {
	case *agentpb.AddBreakpointRequest_Fail, *agentpb.AddBreakpointRequest_Delay:
		if b.spec.Times == 0 {
			b.spec.Times = 1
		}
	}
	expiry := defaultExpiry
	if d := b.spec.GetExpires().AsDuration(); d > 0 {
		expiry = d
	}
	b.expires = time.Now().Add(expiry)
}

// failsUnheld reports whether the step may be made to fail where no pod may be
// held: a call to the runtime comes back at once, with an error for its pod.
func (s *stepInfo) failsUnheld() bool { return s.Stage == stageCRI }

func (t *breakpoints) remove(id uint32) *breakpoint {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.all[id]
	if b != nil {
		t.drop(b)
	}
	return b
}

// drop removes a breakpoint that is in the table. The caller holds mu.
func (t *breakpoints) drop(b *breakpoint) {
	b.timer.Stop()
	b.forget()
	delete(t.all, b.id)
	t.arm(b, -1)
}

func (t *breakpoints) clear() {
	for _, b := range t.list() {
		t.remove(b.id)
	}
}

func (t *breakpoints) list() []*breakpoint {
	t.mu.RLock()
	defer t.mu.RUnlock()
	out := make([]*breakpoint, 0, len(t.all))
	for _, b := range t.all {
		out = append(out, b)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].id < out[j].id })
	return out
}

// stop acts by the oldest breakpoint that applies here, and reports whether there was one. If the pod may not be held,
// or there is no room for one more hold, only breakpoints that make a step fail apply. fault is the error with which
// the step is to fail, or nil.
func (t *breakpoints) stop(a *Agent, at crossing, may bool) (acted bool, fault error) {
	s, ps := at.span, at.part
	room := may && a.holds.reserve(a.limits())
	if room {
		defer a.holds.free()
	}
	b := t.hit(a, at, room)
	if b == nil {
		if may && !room {
			t.miss(a, s, ps, func(b *breakpoint) bool { return !b.passes() && b.steps[s.step.ID] && b.applies(a, at) })
		}
		return false, nil
	}
	a.putEnter(s, ps)
	switch act := b.spec.GetAction().(type) {
	case *agentpb.AddBreakpointRequest_Fail:
		s.fault = true
		a.faults.fails.Add(1)
		err := faultError(s.step, act.Fail)
		a.put(s, ps, 0, journal.Event{Kind: agentpb.Kind_FAULT, Err: values.Error(err), Fields: append([]field{text("why", b.why().String())}, b.by.Fields()...)})
		return true, err
	case *agentpb.AddBreakpointRequest_Delay:
		d := act.Delay.AsDuration()
		a.faults.delays.Add(1)
		delay := append([]field{text("why", b.why().String()), wire.Duration("delay", d)}, b.by.Fields()...)
		a.put(s, ps, 0, journal.Event{Kind: agentpb.Kind_FAULT, Fields: delay})
		a.hold(at, terms{cause{agentpb.Cause_CAUSE_DELAY, b.id}, d, b.client, b.by, nil}, nil)
	default:
		a.hold(at, terms{b.why(), b.spec.GetHold().GetLease().AsDuration(), b.client, b.by, nil}, a.endStep(ps.pod))
	}
	return true, nil
}

// why returns the cause of the breakpoint's holds.
func (b *breakpoint) why() cause { return cause{agentpb.Cause_CAUSE_BREAKPOINT, b.id} }

// stageCRI is the stage of the calls to the runtime.
const stageCRI = "cri"

// faultError returns the error of a step that is made to fail. For a call to the runtime it is the error that the
// runtime would return: a message such as "NotFound: no such sandbox" begins with its code.
func faultError(step *stepInfo, message string) error {
	if step.Stage != stageCRI {
		return errors.New(message + injected)
	}
	code := codes.Unknown
	if name, rest, ok := strings.Cut(message, ":"); ok {
		for c := codes.Canceled; c <= codes.Unauthenticated; c++ {
			if c.String() == name {
				code, message = c, strings.TrimSpace(rest)
			}
		}
	}
	return status.Error(code, message+injected)
}

const injected = " (injected by podstep)"

// hit returns the breakpoint that acts here, or nil, and counts the hit.
func (t *breakpoints) hit(a *Agent, at crossing, may bool) *breakpoint {
	for {
		b := t.first(func(b *breakpoint) bool {
			return !b.passes() && b.steps[at.span.step.ID] && (may && !b.fails() || b.fails() && at.span.mayFail()) && b.applies(a, at)
		})
		if b == nil {
			return nil
		}
		if acts, there := t.count(b); there {
			if acts {
				return b
			}
			return nil
		}
		// At the same time another call was the last that the breakpoint acted on.
	}
}

// miss counts a pod that passes the oldest suitable breakpoint because there is no room for one more hold. The first
// time, it puts a note into the pod's story.
func (t *breakpoints) miss(a *Agent, s *span, ps *podSpan, suits func(*breakpoint) bool) {
	b := t.first(suits)
	if b == nil {
		return
	}
	t.mu.Lock()
	b.missed++
	first := b.missed == 1
	t.mu.Unlock()
	if first {
		a.put(s, ps, 0, journal.Event{Kind: agentpb.Kind_NOTE, Fields: b.note(agentpb.NoteBreakpointFull, number("held", int64(a.limits().holds)))})
	}
}

// first returns the oldest breakpoint that suits, or nil.
func (t *breakpoints) first(suits func(*breakpoint) bool) (found *breakpoint) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, b := range t.all {
		if suits(b) && (found == nil || b.id < found.id) {
			found = b
		}
	}
	return found
}

// count counts a hit, and removes the breakpoint after its last one. It reports whether the breakpoint acts on this
// hit, and whether it was still in the table.
func (t *breakpoints) count(b *breakpoint) (acts, there bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all[b.id] != b {
		return false, false
	}
	b.seen++
	acts = b.seen > b.spec.GetAfter()
	if acts {
		b.hits++
	}
	over := acts && b.spec.GetTimes() > 0 && b.hits >= b.spec.GetTimes()
	if over {
		t.drop(b)
	}
	return acts, true
}

func (b *breakpoint) fails() bool {
	_, fails := b.spec.GetAction().(*agentpb.AddBreakpointRequest_Fail)
	return fails
}

func (b *breakpoint) applies(a *Agent, at crossing) bool {
	if slow := b.spec.GetSlowerThan(); slow != nil {
		if at.side != exit || at.took(a) < slow.AsDuration() {
			return false
		}
	} else {
		switch b.spec.GetOn() {
		case agentpb.On_ON_ENTER:
			if at.side != enter {
				return false
			}
		case agentpb.On_ON_EXIT:
			if at.side != exit {
				return false
			}
		case agentpb.On_ON_ERROR:
			if at.side != exit || at.err == "" {
				return false
			}
		}
	}
	return b.client.Err() == nil && at.part.pod.Is(b.pods) && (b.snaps() || b.log != nil || checkForce(at.part.pod, b.spec.GetForce()) == nil)
}

// pointProto returns the breakpoint as a message.
func (a *Agent) pointProto(b *breakpoint) *agentpb.Breakpoint {
	a.points.mu.RLock()
	defer a.points.mu.RUnlock()
	return a.protoOf(b)
}

// protoOf is pointProto for a caller that holds mu.
func (a *Agent) protoOf(b *breakpoint) *agentpb.Breakpoint {
	out := &agentpb.Breakpoint{
		Id: b.id, Spec: proto.CloneOf(b.spec), Refused: b.refused, Hits: b.hits, Missed: b.missed, Seq: b.seq,
		Expires: timestamppb.New(b.expires), Peer: b.by.Proto(),
	}
	for _, f := range b.found {
		out.Places = append(out.Places, f.Frame)
	}
	for i := range a.steps {
		if b.steps[i] {
			out.Steps = append(out.Steps, a.steps[i].Name)
		}
	}
	return out
}
