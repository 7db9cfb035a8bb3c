package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/spread"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/filter"
	"github.com/podstep/podstep/probes/words"
)

// slowness is the --slower-than flag: a duration, or a quantile of the step's calls.
type slowness struct {
	period
	quantile *quantile // nil: a duration
	against  string    // the file of the durations; empty: the agent's calls
}

// quantile is what a part of a step's calls took at most.
type quantile struct {
	name, share string
	calls       int // it takes that many
	of          func(*spread.Kept) time.Duration
}

var quantiles = []quantile{
	{"p50", "half", spread.MinCalls, func(k *spread.Kept) time.Duration { return k.P50 }},
	{"p90", "90 in 100", spread.MinCalls, func(k *spread.Kept) time.Duration { return k.P90 }},
	{"p99", "99 in 100", spread.MinTail, func(k *spread.Kept) time.Duration { return k.P99 }},
}

func (s *slowness) Type() string { return "DURATION|p50|p90|p99" }

func (s *slowness) Set(v string) error {
	for i := range quantiles {
		if quantiles[i].name == v {
			s.quantile, s.d = &quantiles[i], 0
			return nil
		}
	}
	s.quantile = nil
	if s.period.Set(v) != nil {
		return errors.New("neither a positive duration nor a quantile; write it like --slower-than 5s, or --slower-than p99")
	}
	return nil
}

func (s *slowness) add(cmd *cobra.Command) {
	cmd.Flags().Var(s, "slower-than", "act only if the step took longer than this, at its exit")
	cmd.RegisterFlagCompletionFunc("slower-than", cobra.FixedCompletions([]string{"p50", "p90", "p99"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.Flags().StringVar(&s.against, "against", "", "with --slower-than p99: the durations in `FILE` of podstep top --save (default: of the calls that the agent remembers)")
}

// given reports whether a breakpoint waits for slow calls.
func (s *slowness) given() bool { return s.d > 0 || s.quantile != nil }

// resolve finds out how long the calls of a step take, if the flag is a quantile.
func (s *slowness) resolve(ctx context.Context, a *app, c *probes.Catalogue, step string) error {
	switch {
	case s.quantile == nil && s.against != "":
		return usagef("--against is for a quantile; write --slower-than p99, or leave it out")
	case s.quantile == nil:
		return nil
	}
	steps, err := stepsNamed(c, step)
	if err != nil {
		return err
	}
	if len(steps) != 1 {
		return usagef("--slower-than %s is of one step, and --step %q is %d; name one", s.quantile.name, step, len(steps))
	}
	b, err := s.durations(ctx, a, c, steps[0].Name)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(b.Steps, func(k spread.Kept) bool { return k.Step == steps[0].Name })
	kept := &spread.Kept{}
	if i >= 0 {
		kept = &b.Steps[i]
	}
	if s.d = s.quantile.of(kept); kept.Calls < s.quantile.calls || s.d <= 0 {
		return fmt.Errorf("--slower-than %s takes %d calls of %s, and there are %d; write a duration, or --against FILE with the durations of more calls (podstep top --save FILE)",
			s.quantile.name, s.quantile.calls, steps[0].Name, kept.Calls)
	}
	a.printf("podstep: %s of %d calls of %s took %s at most", s.quantile.share, kept.Calls, kept.Step, strings.TrimSpace(words.Measured(s.d)))
	return nil
}

// durations returns how long the calls of a step took: those in the file, or those that the agent remembers.
func (s *slowness) durations(ctx context.Context, a *app, c *probes.Catalogue, step string) (*spread.Baseline, error) {
	if s.against != "" {
		return readBaseline(s.against)
	}
	conn, err := a.dialReader(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	t := &topper{catalogue: c, pods: &agentpb.PodSelector{}, globs: []string{step}, filter: &filter.Filter{}}
	if err := t.countAgent(ctx, conn, &topFlags{for_: newPeriod("")}, func(*topper) error { return nil }); err != nil {
		return nil, err
	}
	return t.baseline(), nil
}
