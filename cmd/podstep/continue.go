package main

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/cmd/podstep/lines"
	"github.com/podstep/podstep/probes/words"
)

// letGo is the command continue, which is a word of Go.
func (a *app) letGo() *cobra.Command {
	var name podName
	var out format
	var all bool
	cmd := &cobra.Command{
		Use:   "continue POD|--all [-n NAMESPACE] [-o json|yaml]",
		Short: "Let a held pod go on",
		Long:  "Lets a held pod go on, or all that are held, and prints which. Breakpoints stay.",
		Example: `  podstep continue web
  podstep continue --all`,
		Args:              arguments(0, 1, "POD"),
		ValidArgsFunction: a.completePods,
		RunE: func(cmd *cobra.Command, args []string) error {
			req := &agentpb.ContinueRequest{All: all}
			switch {
			case all && (len(args) > 0 || name.namespace != ""):
				return usagef("--all is every held pod; give either a POD or --all")
			case !all && len(args) == 0:
				return usagef("POD is missing; name a pod, or give --all")
			case !all:
				sel, err := name.one(args[0])
				if err != nil {
					return err
				}
				req.Pods = sel
			}
			return a.printReleased(cmd.Context(), req, &out)
		},
	}
	name.add(cmd)
	out.add(cmd, "json", "yaml")
	cmd.Flags().BoolVar(&all, "all", false, "every held pod")
	return cmd
}

func (a *app) printReleased(ctx context.Context, req *agentpb.ContinueRequest, out *format) error {
	released, err := a.letGoOn(ctx, req)
	if err != nil {
		return err
	}
	data := newHoldsJSON(released)
	err = out.print(a.out, data, func(w io.Writer) {
		for _, h := range data {
			fmt.Fprintf(w, "%s goes on from %s of %s\n", words.Clean(lines.FullName(&h.Pod)), words.Clean(h.On), words.Clean(h.Step))
		}
	})
	switch {
	case err != nil || len(data) > 0:
		return err
	case req.All:
		a.printf("no pod is held")
		return nil
	}
	return fmt.Errorf("%s is not held; podstep pods shows which pods are", req.Pods.Written())
}

// letGoOn lets a pod go on its node, or all held pods of all nodes.
func (a *app) letGoOn(ctx context.Context, req *agentpb.ContinueRequest) (released []*agentpb.HoldInfo, err error) {
	if !req.All {
		c, err := a.dialNodeOf(ctx, req.Pods)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		answer, err := c.Continue(ctx, req)
		return answer.GetReleased(), err
	}
	var mu sync.Mutex
	err = a.onEach(ctx, false, func(ctx context.Context, _ string, c *client.Client) error {
		answer, err := c.Continue(ctx, req)
		mu.Lock()
		defer mu.Unlock()
		released = append(released, answer.GetReleased()...)
		return err
	})
	return released, err
}
