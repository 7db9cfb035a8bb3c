package agent

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
)

const (
	// graceTimer stands for the pod's own grace period.
	graceTimer = "grace"
	// callerTimer is the deadline that came with a call.
	callerTimer = "caller"
)

// timer is a timer of the catalogue, ready to use.
type timer struct {
	name  string
	text  string
	after time.Duration // zero: the pod's grace period
}

func newTimer(t *probes.Timer) (timer, error) {
	if t == nil {
		return timer{}, fmt.Errorf("a step names a timer that is not in the catalogue")
	}
	out := timer{name: t.Name, text: t.Text.En}
	if t.After == graceTimer || t.After == callerTimer {
		return out, nil
	}
	d, err := time.ParseDuration(t.After)
	if err != nil {
		return timer{}, fmt.Errorf("read timer %s: %w", t.Name, err)
	}
	out.after = d
	return out, nil
}

// budget is the first timer that a hold would trip.
type budget struct {
	timer timer
	end   time.Time
}

// budgetOf finds the first timer that would trip if the call s stood still
// from now: those of its step, and of the calls it happens in, each running
// since that call began. nil: none.
func (a *Agent) budgetOf(s *span, p *pod, now time.Time) *budget {
	first := a.callerBudget(s)
	for ; s != nil; s = s.parent {
		for _, t := range s.step.timers {
			after := t.after
			if after == 0 {
				after = p.gracePeriod()
			}
			end := time.Unix(0, s.wall).Add(after)
			if end.After(now) && (first == nil || end.Before(first.end)) {
				first = &budget{t, end}
			}
		}
	}
	return first
}

// callerBudget is the deadline of whoever waits for the call, if it has one.
func (a *Agent) callerBudget(s *span) *budget {
	if s.caller == nil {
		return nil
	}
	end, ok := s.caller.Deadline()
	if !ok {
		return nil
	}
	return &budget{a.caller, end}
}

func (p *pod) gracePeriod() time.Duration {
	if m := p.meta.Load(); m != nil && m.grace > 0 {
		return m.grace
	}
	return 30 * time.Second // the API server's default
}

// margin is how long before the timer a hold ends, so that the pod is under
// way again when it runs out.
func margin(left time.Duration) time.Duration { return min(5*time.Second, left/10) }

func (b *budget) proto(now time.Time) *agentpb.Budget {
	if b == nil {
		return nil
	}
	return &agentpb.Budget{Timer: b.timer.name, Text: b.timer.text, Left: durationpb.New(b.end.Sub(now))}
}
