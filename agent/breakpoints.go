package agent

import (
	"context"
	"errors"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/breakpoints"
	"github.com/podstep/podstep/agent/holding"
	"github.com/podstep/podstep/agent/journal"
	"github.com/podstep/podstep/agent/server"
	"github.com/podstep/podstep/agent/values"
	"github.com/podstep/podstep/agent/wire"
)

// addBreakpoint checks a breakpoint and adds it.
func (a *Agent) addBreakpoint(ctx context.Context, spec *agentpb.AddBreakpointRequest, client context.Context, by server.Asker) (*agentpb.Breakpoint, error) {
	_, logs := spec.GetAction().(*agentpb.AddBreakpointRequest_Log)
	if err := a.mayAct(); err != nil && (!logs || spec.GetAt() != "") {
		return nil, err
	}
	var b *breakpoints.Breakpoint
	var err error
	if spec.GetAt() != "" {
		b, err = a.newBreakpointAt(ctx, spec)
	} else {
		b, err = a.newBreakpoint(spec)
	}
	if err != nil {
		return nil, err
	}
	b.Client, b.By, b.Spec.Message = client, by, by.Message
	out, err := a.points.Add(b)
	if err == nil {
		a.announceClosely(ctx)
		a.holds.Announce()
	}
	return out, err
}

func (a *Agent) newBreakpoint(spec *agentpb.AddBreakpointRequest) (*breakpoints.Breakpoint, error) {
	if err := a.limits().check(spec); err != nil {
		return nil, err
	}
	b, err := breakpoints.New(spec)
	if err != nil {
		return nil, err
	}
	ids, err := a.matchSteps(spec.GetStep())
	if err != nil {
		return nil, err
	}
	if b.Log, err = newLog(spec); err != nil {
		return nil, err
	}
	side := b.Side()
	if b.Fails() && side == exit {
		return nil, invalid(agentpb.Problem_FAIL_ON_EXIT, nil)
	}
	var why *agentpb.Problem
	for _, id := range ids {
		s := &a.steps[id]
		if no := a.whyNotAt(s, b); no != nil {
			why = no
			b.Refused = append(b.Refused, &agentpb.Refused{Step: s.Name, Problem: no})
			continue
		}
		b.Steps[id] = s.Name
	}
	if len(b.Steps) == 0 {
		return nil, refusedFor(why, agentpb.Problem_NO_STEP_ALLOWS, args{"on": sideNames[side], "step": spec.GetStep()})
	}
	return b, a.checkLog(b)
}

// failsUnheld reports whether the step may be made to fail where no pod may be
// held: a call to the runtime comes back at once, with an error for its pod.
func (s *stepInfo) failsUnheld() bool { return s.Stage == stageCRI }

// stopByBreakpoint acts by the oldest breakpoint that applies here, and reports whether there was one. If the pod may not
// be held, or there is no room for one more hold, only breakpoints that make a step fail apply. fault is the error with
// which the step is to fail, or nil.
func (a *Agent) stopByBreakpoint(at crossing, may bool) (acted bool, fault error) {
	s, ps := at.span, at.part
	room := may && a.holds.Reserve()
	if room {
		defer a.holds.Free()
	}
	b := a.points.Hit(func(b *breakpoints.Breakpoint) bool {
		return !b.Passes() && b.IsAtStep(s.step.ID) && (room && !b.Fails() || b.Fails() && s.mayFail()) && a.applies(b, at)
	})
	if b == nil {
		if may && !room {
			a.missBreakpoint(s, ps, func(b *breakpoints.Breakpoint) bool { return !b.Passes() && b.IsAtStep(s.step.ID) && a.applies(b, at) })
		}
		return false, nil
	}
	a.putEnter(s, ps)
	switch act := b.Spec.GetAction().(type) {
	case *agentpb.AddBreakpointRequest_Fail:
		s.fault = true
		a.faults.fails.Add(1)
		err := faultError(s.step, act.Fail)
		a.put(s, ps, 0, journal.Event{Kind: agentpb.Kind_FAULT, Err: values.Error(err), Fields: append([]field{text("why", whyOf(b).String())}, b.By.Fields()...)})
		return true, err
	case *agentpb.AddBreakpointRequest_Delay:
		d := act.Delay.AsDuration()
		a.faults.delays.Add(1)
		delay := append([]field{text("why", whyOf(b).String()), wire.Duration("delay", d)}, b.By.Fields()...)
		a.put(s, ps, 0, journal.Event{Kind: agentpb.Kind_FAULT, Fields: delay})
		a.hold(at, termsOf(b, holding.Cause{Cause: agentpb.Cause_CAUSE_DELAY, Breakpoint: b.ID}, d), nil)
	default:
		a.hold(at, termsOf(b, whyOf(b), b.Spec.GetHold().GetLease().AsDuration()), a.holds.EndStep(&ps.pod.State.holding))
	}
	return true, nil
}

// whyOf returns the cause of a breakpoint's holds.
func whyOf(b *breakpoints.Breakpoint) holding.Cause {
	return holding.Cause{Cause: agentpb.Cause_CAUSE_BREAKPOINT, Breakpoint: b.ID}
}

// termsOf returns the terms on which a breakpoint holds a pod.
func termsOf(b *breakpoints.Breakpoint, why holding.Cause, lease time.Duration) holding.Terms {
	return holding.Terms{Why: why, Lease: lease, Client: b.Client, Asked: b.By}
}

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

// missBreakpoint counts a pod that passes the oldest suitable breakpoint because there is no room for one more hold. The
// first time, it puts a note into the pod's story.
func (a *Agent) missBreakpoint(s *span, ps *podSpan, suits func(*breakpoints.Breakpoint) bool) {
	if b := a.points.First(suits); b != nil && a.points.Miss(b) {
		a.put(s, ps, 0, journal.Event{Kind: agentpb.Kind_NOTE, Fields: b.Note(agentpb.NoteBreakpointFull, number("held", int64(a.limits().holds)))})
	}
}

// applies reports whether a breakpoint applies here, and may stop the pod if it stops pods.
func (a *Agent) applies(b *breakpoints.Breakpoint, at crossing) bool {
	p := at.part.pod
	return b.Applies(breakpoints.Crossing{Pod: &p.Pod, Side: at.side, Began: a.started.Add(time.Duration(at.span.start)), Err: at.err}) &&
		(b.Snaps() || b.Log != nil || p.State.holding.Check(b.Spec.GetForce()) == nil)
}
