package agent

import (
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/breakpoints"
	"github.com/podstep/podstep/agent/reason"
)

// limits are the most that an agent grants, whoever asks.
type limits struct {
	lease   time.Duration // of a hold
	wait    time.Duration // for a pod to come to a step
	delay   time.Duration // put into a step
	expires time.Duration // the life of a breakpoint
	holds   int32         // at one time
}

var (
	// nodeLimits are the limits of a node on which others depend.
	nodeLimits = limits{lease: time.Hour, wait: time.Hour, delay: 10 * time.Minute, expires: 24 * time.Hour, holds: 16}
	// labLimits are the limits of a lab: a node for one person.
	labLimits = limits{lease: 24 * time.Hour, wait: 24 * time.Hour, delay: time.Hour, expires: 24 * time.Hour, holds: 1024}
)

func (a *Agent) limits() *limits {
	if a.opts.Lab {
		return &labLimits
	}
	return &nodeLimits
}

func (l *limits) proto() *agentpb.Limits {
	return &agentpb.Limits{
		Lease: durationpb.New(l.lease), Wait: durationpb.New(l.wait), Delay: durationpb.New(l.delay), Expires: durationpb.New(l.expires),
		Holds: uint32(l.holds), Breakpoints: breakpoints.Most,
	}
}

// within returns the duration that a client asks for, or zero if it asks for none. It refuses a duration that is longer
// than most, or not positive. what names the duration in the error.
func within(what string, d *durationpb.Duration, most time.Duration) (time.Duration, error) {
	if d == nil {
		return 0, nil
	}
	asked := d.AsDuration()
	if !d.IsValid() || asked <= 0 {
		return 0, invalid(agentpb.Problem_NOT_POSITIVE, args{"what": what})
	}
	if asked > most {
		return 0, invalid(agentpb.Problem_TOO_LONG, args{"what": what, "asked": asked.String(), "most": most.String()})
	}
	return asked, nil
}

// leaseAndWait returns the two durations of a hold. A lease of zero is the default of wherever the pod will be held.
func (l *limits) leaseAndWait(lease, wait *durationpb.Duration) (leaseFor, waitFor time.Duration, err error) {
	if leaseFor, err = within("lease", lease, l.lease); err != nil {
		return 0, 0, err
	}
	if waitFor, err = within("wait", wait, l.wait); err != nil {
		return 0, 0, err
	}
	if waitFor == 0 {
		waitFor = DefaultWait
	}
	return leaseFor, waitFor, nil
}

// check refuses a breakpoint that asks for more than the agent grants.
func (l *limits) check(spec *agentpb.AddBreakpointRequest) error {
	if _, err := within("life", unlessZero(spec.GetExpires()), l.expires); err != nil {
		return err
	}
	if slow := spec.GetSlowerThan(); slow != nil && (!slow.IsValid() || slow.AsDuration() < 0) {
		return invalid(agentpb.Problem_BAD_SLOWER_THAN, args{"asked": slow.AsDuration().String()})
	}
	if _, is := agentpb.On_name[int32(spec.GetOn())]; !is {
		return invalid(agentpb.Problem_BAD_ON, args{"on": spec.GetOn().String()})
	}
	switch act := spec.GetAction().(type) {
	case *agentpb.AddBreakpointRequest_Hold:
		_, err := within("lease", unlessZero(act.Hold.GetLease()), l.lease)
		return err
	case *agentpb.AddBreakpointRequest_Delay:
		if act.Delay == nil {
			return invalid(agentpb.Problem_NOT_POSITIVE, args{"what": "delay"})
		}
		_, err := within("delay", act.Delay, l.delay)
		return err
	}
	return nil
}

// unlessZero returns d, or nil for a duration of zero, which stands for a breakpoint's default.
func unlessZero(d *durationpb.Duration) *durationpb.Duration {
	if d.GetSeconds() == 0 && d.GetNanos() == 0 {
		return nil
	}
	return d
}

// mayAct returns an error if the agent is read-only. Holds, steps and breakpoints ask it first.
func (a *Agent) mayAct() error {
	if a.opts.ReadOnly {
		return reason.Failed(codes.PermissionDenied, problem(agentpb.Problem_READ_ONLY, nil))
	}
	return nil
}
