package alerting

import (
	"context"
	"errors"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/alert"
	"github.com/podstep/podstep/agent/trace"
	"github.com/podstep/podstep/probes"
)

// Recorded goes through a recording. Its clock is the recording's.
type Recorded struct {
	Catalogue *probes.Catalogue
	Alert     *alert.Alert
	Pods      *agentpb.PodSelector
	Node      bool
	Once      bool
	Match     func(*alert.Match) error
	Lost      func(*probes.Event)

	// Matched says that something matched, Dropped how many calls and sequences were not followed.
	Matched bool
	Dropped uint64
}

// errEnough ends a recording of which no more is asked for.
var errEnough = errors.New("enough")

// Run goes through the recording. It returns the error with which the recording ends; nil if it was left at the first
// match.
func (r *Recorded) Run(ctx context.Context, from trace.Recording) error {
	var failed error
	m := alert.New(r.Alert, from.Header().Info, r.Catalogue, alert.Options{Pods: r.Pods, Node: r.Node, Lost: r.Lost, Match: func(m *alert.Match) {
		if failed != nil {
			return
		}
		r.Matched = true
		if failed = r.Match(m); failed == nil && r.Once {
			failed = errEnough
		}
	}})
	defer func() { r.Dropped = m.Dropped() }()
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		b, err := from.Next()
		if err != nil {
			return err
		}
		if m.Add(b); failed != nil {
			break
		}
	}
	if errors.Is(failed, errEnough) {
		return nil
	}
	return failed
}
