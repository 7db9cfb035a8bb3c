package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
)

func (a *app) breakRemove() *cobra.Command {
	var out format
	var all bool
	cmd := &cobra.Command{
		Use:   "rm ID...|--all [-o json|yaml]",
		Short: "Remove breakpoints",
		Long: `Removes breakpoints by their IDs, or all that the agent has, whoever set them. A pod that
one of them holds stays held until its lease ends, or podstep continue.`,
		Args:              arguments(0, math.MaxInt, "IDs"),
		ValidArgsFunction: a.completeBreakpoints,
		RunE: func(cmd *cobra.Command, args []string) error {
			ids, err := breakpointIDs(args)
			switch {
			case err != nil:
				return err
			case all && len(ids) > 0:
				return usagef("--all is every breakpoint; leave it out where IDs are given")
			case !all && len(ids) == 0:
				return usagef("ID is missing; podstep break ls lists them")
			}
			c, err := a.dial(cmd.Context())
			if err != nil {
				return err
			}
			defer c.Close()
			if all {
				if ids, err = allBreakpoints(cmd.Context(), c); err != nil {
					return err
				}
			}
			removed, failed := removeBreakpoints(cmd.Context(), c, ids)
			return errors.Join(a.printRemoved(removed, len(args) == 1, &out), failed)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "every breakpoint")
	out.add(cmd, "json", "yaml")
	return cmd
}

// breakpointIDs reads the IDs of breakpoints.
func breakpointIDs(args []string) (ids []uint32, err error) {
	for _, arg := range args {
		id, err := strconv.ParseUint(arg, 10, 32)
		if err != nil || id == 0 {
			return nil, usagef("%q is not the ID of a breakpoint; podstep break ls lists them", arg)
		}
		ids = append(ids, uint32(id))
	}
	return ids, nil
}

// allBreakpoints returns the IDs of the breakpoints that the agent has.
func allBreakpoints(ctx context.Context, c *client.Client) (ids []uint32, err error) {
	answer, err := c.ListBreakpoints(ctx, &agentpb.ListBreakpointsRequest{})
	if err != nil {
		return nil, err
	}
	for _, b := range answer.Breakpoints {
		ids = append(ids, b.Id)
	}
	return ids, nil
}

// removeBreakpoints removes as many of the breakpoints as it can.
func removeBreakpoints(ctx context.Context, c *client.Client, ids []uint32) (removed []*agentpb.Breakpoint, err error) {
	var failed []error
	for _, id := range ids {
		b, err := c.RemoveBreakpoint(ctx, &agentpb.RemoveBreakpointRequest{Id: id})
		if err != nil {
			failed = append(failed, err)
			continue
		}
		removed = append(removed, b)
	}
	return removed, errors.Join(failed...)
}

// printRemoved prints what was removed. A script that names one breakpoint gets one, and any other gets a list.
func (a *app) printRemoved(removed []*agentpb.Breakpoint, one bool, out *format) error {
	if len(removed) == 0 && (one || out.value == "") {
		if !one {
			a.printf("no breakpoint was removed")
		}
		return nil
	}
	data := make([]breakJSON, len(removed))
	for i, b := range removed {
		data[i] = newBreakJSON(b)
	}
	var shown any = data
	if one {
		shown = data[0]
	}
	return out.print(a.out, shown, func(w io.Writer) {
		for _, b := range removed {
			fmt.Fprintf(w, "removed breakpoint %d, which had %d hits\n", b.Id, b.Hits)
		}
	})
}
