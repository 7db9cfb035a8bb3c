package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/cmd/podstep/lines"
	"github.com/podstep/podstep/probes"
)

// heldFlags select among the pods that are held.
type heldFlags struct {
	podName
	labels, step string
	mine         bool
}

func (f *heldFlags) add(cmd *cobra.Command) {
	f.podName.add(cmd)
	cmd.Flags().StringVarP(&f.labels, "selector", "l", "", "only pods with these `LABELS`, like app=web,tier=front")
	cmd.Flags().StringVar(&f.step, "step", "", "only pods that are held at this `STEP`: a name, a glob, or stage:NAME")
	cmd.RegisterFlagCompletionFunc("step", completeSteps)
	cmd.Flags().BoolVar(&f.mine, "mine", false, "only holds that your user asked for")
}

// narrows reports whether flags select among the pods of a name.
func (f *heldFlags) narrows() bool {
	return f.labels != "" || f.step != "" || f.mine || f.namespace != ""
}

func (f *heldFlags) selector(args []string) (*agentpb.PodSelector, error) {
	if f.step != "" {
		c, err := probes.Load()
		if err != nil {
			return nil, err
		}
		if _, err := stepsNamed(c, f.step); err != nil {
			return nil, err
		}
	}
	sel, err := f.some(first(args))
	if err != nil {
		return nil, err
	}
	sel.Labels, err = labels(f.labels)
	return sel, err
}

// myUser returns the user as whom the agent sees this podstep.
func myUser(about *agentpb.InfoResponse) (*uint32, error) {
	if about.GetYou() == nil {
		return nil, errors.New("this agent does not say as whom it sees you, so --mine selects nothing; name the pods")
	}
	return &about.You.Uid, nil
}

func (a *app) holds() *cobra.Command {
	var which heldFlags
	var out format
	cmd := &cobra.Command{
		Use:   "holds [POD|GLOB] [-n NAMESPACE] [-l LABELS] [--step STEP] [--mine] [-o wide|json|yaml]",
		Short: "List the pods that are held, for whom and why",
		Long: `Lists the pods that are held: where, since when, when and by what they go on by
themselves, who asked for it, and the message that they left with -m. podstep continue
takes the same and lets the pods go.`,
		Example: `  podstep holds
  podstep holds 'shop/*' --step 'cri.*'
  podstep holds --mine -o json`,
		Args:              arguments(0, 1, "POD|GLOB"),
		ValidArgsFunction: a.completePods,
		RunE: func(cmd *cobra.Command, args []string) error {
			sel, err := which.selector(args)
			if err != nil {
				return err
			}
			return a.printHolds(cmd.Context(), &agentpb.ListHoldsRequest{Pods: sel, Step: which.step}, which.mine, &out)
		},
	}
	which.add(cmd)
	out.add(cmd, "wide", "json", "yaml")
	return cmd
}

func (a *app) printHolds(ctx context.Context, req *agentpb.ListHoldsRequest, mine bool, out *format) error {
	c, err := a.dialReader(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if mine {
		if req.Uid, err = myUser(c.About()); err != nil {
			return err
		}
	}
	answer, err := c.ListHolds(ctx, req)
	if err != nil {
		return err
	}
	if len(answer.Holds) == 0 && out.value == "" {
		a.printNoneHeld(req.Pods, req.Step != "" || mine)
		return nil
	}
	you := c.About().GetYou().GetUid()
	return out.print(a.out, newHoldsJSON(answer.Holds), func(w io.Writer) { holdTable(w, answer.Holds, you, out.wide()) })
}

// printNoneHeld says that no pod is held of those that a selector and perhaps other flags mean.
func (a *app) printNoneHeld(sel *agentpb.PodSelector, narrowed bool) {
	if narrowed || sel.GetName() != "" || sel.GetNamespace() != "" || len(sel.GetLabels()) > 0 {
		a.printf("no such pod is held")
		return
	}
	a.printf("no pod is held")
}

// holdTable writes holds as a table. you is the user of this podstep.
func holdTable(w io.Writer, holds []*agentpb.HoldInfo, you uint32, wide bool) {
	header := []string{"POD", "HELD AT", "FOR", "GOES ON", "BY", "MESSAGE"}
	if wide {
		header = append(header, "ID", "WHY", "PID")
	}
	var rows [][]string
	for _, h := range holds {
		j := newHoldJSON(h)
		at := h.On + " of " + h.Step
		if h.Place != nil {
			at = h.Place.Written() + " in " + h.Step
		}
		by, pid := "", ""
		if p := h.Peer; p != nil {
			by, pid = "user "+number(p.Uid), number(uint32(p.Pid))
			if p.Uid == you {
				by = "you"
			}
		}
		row := []string{lines.FullName(&j.Pod), at, left(time.Since(h.Since.AsTime())), fmt.Sprintf("in %s (%s)", j.Ends, j.EndsBy), by, h.Message}
		if wide {
			row = append(row, number(h.Id), j.Why, pid)
		}
		rows = append(rows, row)
	}
	table(w, header, rows)
}
