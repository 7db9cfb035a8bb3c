package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/cmd/podstep/lines"
	"github.com/podstep/podstep/probes/words"
)

// letGo is the command continue, which is a word of Go.
func (a *app) letGo() *cobra.Command {
	var which heldFlags
	var out format
	var all bool
	cmd := &cobra.Command{
		Use:   "continue POD|GLOB|--all [-n NAMESPACE] [-l LABELS] [--step STEP] [--mine] [-o json|yaml]",
		Short: "Let held pods go on",
		Long: `Lets a held pod go on, or all held pods that a glob, -l, --step or --mine select,
and prints which. Breakpoints stay. podstep holds takes the same and only lists.`,
		Example: `  podstep continue web
  podstep continue 'shop/*' --step 'cri.*'
  podstep continue --mine
  podstep continue --all`,
		Args:              arguments(0, 1, "POD|GLOB"),
		ValidArgsFunction: a.completePods,
		RunE: func(cmd *cobra.Command, args []string) error {
			sel, err := which.selector(args)
			switch {
			case err != nil:
				return err
			case all && (len(args) > 0 || which.narrows()):
				return usagef("--all is every held pod; leave it out where a POD, -n, -l, --step or --mine says which")
			case !all && len(args) == 0 && !which.narrows():
				return usagef("POD is missing; name a pod, or give --all")
			}
			one := len(args) > 0 && !sel.HasGlob() && which.labels == "" && which.step == "" && !which.mine
			req := &agentpb.ContinueRequest{Pods: sel, All: !one, Step: which.step}
			return a.printReleased(cmd.Context(), req, which.mine, &out)
		},
	}
	which.add(cmd)
	out.add(cmd, "json", "yaml")
	cmd.Flags().BoolVar(&all, "all", false, "every held pod")
	return cmd
}

func (a *app) printReleased(ctx context.Context, req *agentpb.ContinueRequest, mine bool, out *format) error {
	released, failed := a.letGoOn(ctx, req, mine)
	if failed != nil && len(released) == 0 {
		return failed
	}
	data := newHoldsJSON(released)
	err := out.print(a.out, data, func(w io.Writer) {
		for _, h := range data {
			fmt.Fprintf(w, "%s goes on from %s of %s\n", words.Clean(lines.FullName(&h.Pod)), words.Clean(h.On), words.Clean(h.Step))
		}
	})
	switch {
	case err != nil || len(data) > 0:
		return cmp.Or(err, failed)
	case req.All:
		a.printNoneHeld(req.Pods, req.Step != "" || mine)
		return nil
	}
	return fmt.Errorf("%s is not held; podstep holds shows which pods are", req.Pods.Written())
}

// letGoOn lets a pod go on its node, or all held pods of all nodes.
func (a *app) letGoOn(ctx context.Context, req *agentpb.ContinueRequest, mine bool) (released []*agentpb.HoldInfo, err error) {
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
		uid, user, err := userIf(mine, c.About())
		if err != nil {
			return err
		}
		own := proto.CloneOf(req)
		own.Uid, own.User = uid, user
		answer, err := c.Continue(ctx, own)
		mu.Lock()
		defer mu.Unlock()
		released = append(released, answer.GetReleased()...)
		return err
	})
	return released, err
}
