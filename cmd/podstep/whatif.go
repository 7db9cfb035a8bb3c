package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/client/fleet"
	"github.com/podstep/podstep/agent/trace"
	"github.com/podstep/podstep/agent/whatif"
	"github.com/podstep/podstep/cmd/podstep/node"
)

// whatifFlags are the flags of whatif.
type whatifFlags struct {
	podName
	set   []string
	like  string
	sync  uint32
	trace string
	out   format
}

func (a *app) whatif() *cobra.Command {
	var flags whatifFlags
	cmd := &cobra.Command{
		Use:   "whatif POD [-n NAMESPACE] [--set PATH=VALUE]... [--like POD] [--sync N] [--trace FILE] [-o json|yaml] [flags]",
		Short: "What the kubelet would have planned if something were different",
		Long: `Makes a plan of the kubelet for a pod anew, with the kubelet's own code: which
containers to start and to kill and why, whether the pod needs a sandbox. With --set
and --like something about the pod is different, and podstep shows both plans, what
differs, and because of which change. Nothing happens to any pod.

A woven kubelet records with each plan all that it is made of. --set PATH=VALUE
changes a value of that, and --set PATH- removes one:

  metadata.deletionTimestamp=2026-01-01T00:00:00Z
  spec.restartPolicy=Never
  spec.containers[web].image=nginx:2
  spec.containers[0].resources.limits.memory=128Mi
  status.sandboxes[0].state=NOTREADY
  status.containers[web].state=exited         created, running, exited, unknown
  status.containers[web].exitCode=1
  status.containers[web].liveness=Failure     Success, Failure, Unknown; startup, too
  status.containers[web].changed=true         made from another definition
  actuated.containers.web.requests.cpu=200m   what a resize has given it
  restartAllContainers=true
  gates.ContainerRestartRules=false

In brackets is the place of an element, from 0, or its name. A VALUE can be JSON, so
--set 'status.containers[web]={"name":"web","state":"created"}' sets a whole element.
-o json shows all that a plan is made of. --like takes all of it from the plan of
another pod.

podstep hands the question over to podstep-lab, which has the kubelet's code. The
exit code is 1 if the plan of the recorded values is not the recorded plan, as may
be for a kubelet of another version.`,
		Example: `  podstep whatif web
  podstep whatif web --set spec.restartPolicy=Never
  podstep whatif web --set 'status.containers[0].state=exited' --set 'status.containers[0].exitCode=0'
  podstep whatif web-1 --like web-2
  podstep whatif web --trace node.podstep --sync 3 -o json | jq .inputs`,
		Args:              arguments(1, 1, "POD"),
		ValidArgsFunction: a.completePods,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.runWhatif(cmd.Context(), args[0], &flags)
		},
	}
	flags.podName.add(cmd)
	cmd.Flags().StringArrayVar(&flags.set, "set", nil, "change a value: `PATH=VALUE`, or PATH- to remove one; may be given more than once")
	cmd.RegisterFlagCompletionFunc("set", cobra.NoFileCompletions)
	cmd.Flags().StringVar(&flags.like, "like", "", "take all values from the last plan of this `POD`; --set changes them after that")
	cmd.RegisterFlagCompletionFunc("like", a.completePods)
	cmd.Flags().Uint32Var(&flags.sync, "sync", 0, "the plan of the sync with this `NUMBER` (default: the last)")
	cmd.RegisterFlagCompletionFunc("sync", cobra.NoFileCompletions)
	cmd.Flags().StringVar(&flags.trace, "trace", "", "look into this `FILE`, a trace or a record directory, not at the agent")
	flags.out.add(cmd, "json", "yaml")
	return cmd
}

// errOtherPlan is the error of a plan that the kubelet's code here does not make.
var errOtherPlan = errors.New("the plan that was made anew is not the recorded one")

func (a *app) runWhatif(ctx context.Context, pod string, flags *whatifFlags) error {
	found, changes, err := a.whatifOf(ctx, pod, flags)
	if err != nil {
		return err
	}
	question, err := json.Marshal(whatif.Question{Inputs: found.Inputs, Recorded: found.Plan, Changes: changes})
	if err != nil {
		return fmt.Errorf("write question: %w", err)
	}
	text, err := node.Whatif(ctx, question)
	if err != nil {
		return err
	}
	var answer whatif.Answer
	if err := json.Unmarshal(text, &answer); err != nil {
		return fmt.Errorf("read the answer of podstep-lab: %w", err)
	}
	out := newWhatifJSON(found, &answer)
	if err := flags.out.print(a.out, out, out.text); err != nil {
		return err
	}
	if answer.Compared && !answer.Same {
		return errOtherPlan
	}
	return nil
}

// whatifOf returns the plan that the question is about, and the changes.
func (a *app) whatifOf(ctx context.Context, pod string, flags *whatifFlags) (*whatif.Found, []whatif.Change, error) {
	set, err := whatif.ParseChanges(flags.set)
	if err != nil {
		return nil, nil, usagef("--set: %v", err)
	}
	sel, err := flags.one(pod)
	if err != nil {
		return nil, nil, err
	}
	found, err := a.findPlan(ctx, sel, flags.sync, flags.trace)
	if err != nil {
		return nil, nil, err
	}
	var changes []whatif.Change
	if flags.like != "" {
		other, err := flags.one(flags.like)
		if err != nil {
			return nil, nil, err
		}
		like, err := a.findPlan(ctx, other, 0, flags.trace)
		if err != nil {
			return nil, nil, err
		}
		if found.Inputs, changes, err = whatif.Like(found.Inputs, like.Inputs); err != nil {
			return nil, nil, err
		}
	}
	// A change that cannot be made is noticed before another program is started.
	trial, err := found.Inputs.Clone()
	if err != nil {
		return nil, nil, err
	}
	changes = append(changes, set...)
	for _, c := range changes {
		if err := c.Apply(trial); err != nil {
			return nil, nil, usagef("--set %s: %v", c, err)
		}
	}
	if err := trial.Check(); err != nil {
		return nil, nil, usagef("%v", err)
	}
	return found, changes, nil
}

// findPlan finds a plan of a pod in a recording, or asks the agent of the pod's node.
func (a *app) findPlan(ctx context.Context, sel *agentpb.PodSelector, sync uint32, path string) (*whatif.Found, error) {
	if path != "" {
		return a.recordedPlan(ctx, sel, sync, path)
	}
	nodes, err := a.chosen(ctx)
	if err != nil {
		return nil, err
	}
	answers := fleet.Ask(ctx, nodes, patienceWith(nodes), func(ctx context.Context, c *client.Client) (*whatif.Found, error) {
		w, err := c.Reader().Watch(ctx, &agentpb.WatchRequest{Pods: sel, Steps: []string{whatif.Step}, History: true, OnlyHistory: true})
		if err != nil {
			return nil, err
		}
		f, err := whatif.Find(c.About(), watchSource{w}, sel, sync)
		switch {
		case errors.Is(err, whatif.ErrNoPod) && len(nodes) > 1:
			return nil, nil
		case errors.Is(err, whatif.ErrNoPod):
			return nil, fmt.Errorf("%w to the agent; see podstep pods", err)
		}
		return f, err
	})
	if len(nodes) == 1 {
		return answers[0].Value, answers[0].Err
	}
	has := func(a fleet.Answer[*whatif.Found]) bool { return a.Value != nil }
	if !slices.ContainsFunc(answers, func(a fleet.Answer[*whatif.Found]) bool { return has(a) || a.Err != nil }) {
		return nil, fmt.Errorf("pod %s: %w to the %d agents; see podstep pods", sel.Written(), whatif.ErrNoPod, len(nodes))
	}
	i, err := onlyOne(answers, sel, has)
	if err != nil {
		return nil, err
	}
	return answers[i].Value, nil
}

func (a *app) recordedPlan(ctx context.Context, sel *agentpb.PodSelector, sync uint32, path string) (*whatif.Found, error) {
	logs := logFlags{past: pastChoice{pods: sel}}
	r, err := a.openLogs(ctx, &logs, path)
	if err != nil {
		return nil, openError(err)
	}
	defer r.Close()
	f, err := whatif.Find(r.Header().Info, r, sel, sync)
	var fault *trace.Fault
	switch {
	case errors.Is(err, whatif.ErrNoPod):
		return nil, fmt.Errorf("%s: %w; %s", path, err, logs.showsWhat(path))
	case f != nil && errors.As(err, &fault):
		a.printf("podstep: %s: %s", path, fault)
		return f, nil
	}
	return f, err
}

// whatifJSON is an answer as programs get it.
type whatifJSON struct {
	Namespace string         `json:"namespace"`
	Name      string         `json:"name"`
	UID       string         `json:"uid"`
	Sync      uint32         `json:"sync"`
	Time      time.Time      `json:"time"`
	Recorder  string         `json:"recordedBy,omitempty"`
	Inputs    *whatif.Inputs `json:"inputs"`
	*whatif.Answer
}

func newWhatifJSON(f *whatif.Found, a *whatif.Answer) *whatifJSON {
	return &whatifJSON{f.Pod.Namespace, f.Pod.Name, f.Pod.UID, f.Sync, f.Time, f.Kubelet, f.Inputs, a}
}
