package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/agentpb"
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

// printPodsThen prints what pods were doing.
func (a *app) printPodsThen(ctx context.Context, sel *agentpb.PodSelector, f *podsThen, out *format) error {
	var names []string
	if f.trace != "" {
		names = []string{f.trace}
	}
	names, err := a.orRecordDir(ctx, names)
	if err != nil {
		return err
	}
	from := nameOfLogs(names)
	t, err := a.readPast(ctx, &f.logs, &f.at, sel, from, names)
	if err != nil {
		return err
	}
	pods := onOneNode(t.States(sel))
	if len(pods) == 0 && sel.Name != "" && !sel.HasGlob() {
		return fmt.Errorf("%s has no pod %s of that time", from, sel.Written())
	}
	for _, line := range t.Broken() {
		a.printf("podstep: %s", line)
	}
	return out.print(a.out, newPodsJSON(pods), func(w io.Writer) { podTable(w, pods, false, out.wide(), t.End()) })
}
