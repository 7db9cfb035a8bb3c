package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/reason"
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

// userIf returns the user whose holds are meant, and the name that they gave: with mine the one as whom the agent sees this
// podstep, else nil, which is anybody.
func userIf(mine bool, about *agentpb.InfoResponse) (uid *uint32, name string, err error) {
	if !mine {
		return nil, "", nil
	}
	if about.GetYou() == nil {
		return nil, "", errors.New("this agent does not say as whom it sees you, so --mine selects nothing; name the pods")
	}
	return &about.You.Uid, about.You.User, nil
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

// nodeHold is a hold on a node, whose name is empty if there is one node only. you says that the user of this podstep asked
// for it.
type nodeHold struct {
	node string
	you  bool
	*agentpb.HoldInfo
}

func (a *app) printHolds(ctx context.Context, req *agentpb.ListHoldsRequest, mine bool, out *format) error {
	var mu sync.Mutex
	var held []nodeHold
	failed := a.onEach(ctx, false, func(ctx context.Context, node string, c *client.Client) error {
		holds, err := askHolds(ctx, node, c.Reader(), req, mine)
		mu.Lock()
		defer mu.Unlock()
		held = append(held, holds...)
		return err
	})
	if failed != nil && len(held) == 0 {
		return failed
	}
	slices.SortStableFunc(held, func(a, b nodeHold) int { return a.Since.AsTime().Compare(b.Since.AsTime()) })
	if len(held) == 0 && out.value == "" {
		a.printNoneHeld(req.Pods, req.Step != "" || mine)
		return nil
	}
	data := slices.Grow([]holdJSON{}, len(held))
	for _, h := range held {
		j := newHoldJSON(h.HoldInfo)
		j.OnNode = h.node
		data = append(data, j)
	}
	err := out.print(a.out, data, func(w io.Writer) { holdTable(w, held, a.several(), out.wide()) })
	return cmp.Or(err, failed)
}

// askHolds asks the agent of a node for its holds, the oldest first.
func askHolds(ctx context.Context, node string, r *client.Reader, req *agentpb.ListHoldsRequest, mine bool) ([]nodeHold, error) {
	uid, user, err := userIf(mine, r.About())
	if err != nil {
		return nil, err
	}
	own := proto.CloneOf(req)
	own.Uid, own.User = uid, user
	answer, err := r.ListHolds(ctx, own)
	you, out := r.About().GetYou(), []nodeHold{}
	for _, h := range answer.GetHolds() {
		out = append(out, nodeHold{node, h.Peer != nil && you != nil && h.Peer.Uid == you.Uid && h.Peer.User == you.User, h})
	}
	return out, err
}

// printNoneHeld says that no pod is held of those that a selector and perhaps other flags mean.
func (a *app) printNoneHeld(sel *agentpb.PodSelector, narrowed bool) {
	if narrowed || sel.GetName() != "" || sel.GetNamespace() != "" || len(sel.GetLabels()) > 0 {
		a.printf("no such pod is held")
		return
	}
	a.printf("no pod is held")
}

// holder names who asked for a hold. The table has the process in a column of its own.
func holder(p *agentpb.Peer) string {
	if p.Account == "" && p.User == "" {
		return "user " + number(p.Uid)
	}
	return reason.Peer(p).En
}

// holdTable writes holds as a table, with the nodes if there are several.
func holdTable(w io.Writer, holds []nodeHold, named, wide bool) {
	header := []string{"POD", "HELD AT", "FOR", "GOES ON", "BY", "MESSAGE"}
	if named {
		header = append([]string{"NODE"}, header...)
	}
	if wide {
		header = append(header, "ID", "WHY", "PID")
	}
	var rows [][]string
	for _, h := range holds {
		j := newHoldJSON(h.HoldInfo)
		at := h.On + " of " + h.Step
		if h.Place != nil {
			at = h.Place.Written() + " in " + h.Step
		}
		by, pid := "", ""
		if p := h.Peer; p != nil {
			by, pid = holder(p), number(uint32(p.Pid))
			if h.you {
				by = "you"
			}
		}
		row := []string{lines.FullName(&j.Pod), at, left(time.Since(h.Since.AsTime())), fmt.Sprintf("in %s (%s)", j.Ends, j.EndsBy), by, h.Message}
		if named {
			row = append([]string{h.node}, row...)
		}
		if wide {
			row = append(row, number(h.Id), j.Why, pid)
		}
		rows = append(rows, row)
	}
	table(w, header, rows)
}
