package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/explain/gather"
)

// podsThen says at which moment of which recording pods are looked at.
type podsThen struct {
	at    atFlag
	trace string
	logs  logFlags
}

func (f *podsThen) add(cmd *cobra.Command) {
	f.at.add(cmd)
	cmd.Flags().StringVar(&f.trace, "trace", "", "look into this trace `FILE` or record directory, not at the agent: at its end, or --at")
}

func (f *podsThen) given() bool { return f.at.text != "" || f.trace != "" }

// statesThen are what pods were doing at a moment.
type statesThen struct {
	pods []*agentpb.PodState
	at   time.Time
}

// printPodsThen prints what pods were doing.
func (a *app) printPodsThen(ctx context.Context, sel *agentpb.PodSelector, f *podsThen, out *format) error {
	var names []string
	if f.trace != "" {
		names = []string{f.trace}
	}
	answers, err := askThen(ctx, a, &f.logs, &f.at, sel, names, func(t *gather.Trace) (statesThen, error) {
		for _, line := range t.Broken() {
			a.printf("podstep: %s", line)
		}
		return statesThen{t.States(sel), t.End()}, nil
	})
	if err != nil {
		return err
	}
	var at time.Time
	for _, answer := range answers {
		if answer.Value.at.After(at) {
			at = answer.Value.at
		}
	}
	several := len(answers) > 1
	pods := podsOf(answers, several, func(s statesThen) []*agentpb.PodState { return s.pods })
	sortWorst(pods)
	unanswered := a.printUnanswered(namesOf(answers), errorsOf(answers))
	switch {
	case len(pods) == 0 && unanswered != nil:
		return unanswered
	case len(pods) == 0 && sel.Name != "" && !sel.HasGlob():
		return fmt.Errorf("%s has no pod %s of that time", strings.Join(namesOf(answers), ", "), sel.Written())
	}
	err = out.print(a.out, newPodsJSON(pods), func(w io.Writer) { podTable(w, pods, several, out.wide(), at) })
	return errors.Join(err, unanswered)
}
