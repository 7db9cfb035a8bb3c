package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes/words"
)

// whyFlags are those of podstep why.
type whyFlags struct {
	name podName
	out  format
	lang choice
	from whyFrom
	all  bool
}

func (a *app) why() *cobra.Command {
	var f whyFlags
	cmd := &cobra.Command{
		Use:   "why [POD|KIND/NAME] [-n NAMESPACE] [-A] [-o json|yaml]",
		Short: "Why a pod is stuck",
		Long: `Finds out why a pod is stuck, and names the cause with its evidence, the timer
that runs, and what to do next.

It asks whatever it can reach: the API server, with the credentials that kubectl
would use; the kubelet, through the API server; and where podstep runs on the
node, the container runtime, the machine, and podstep's agent if there is one. It
says what it could not see, and it never changes anything.

The exit code is 0 when nothing is wrong, 3 when something is, 1 when that cannot
be found out, and 2 if the command line is wrong.`,
		Example: `  podstep why web
  podstep why deployment/web -n shop
  podstep why -A
  podstep why web -o json | jq -r '.findings[0].id'`,
		Args:              arguments(0, 1, "POD|KIND/NAME"),
		ValidArgsFunction: a.completePods,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.explain(cmd.Context(), &f, first(args))
		},
	}
	f.name.add(cmd)
	f.out.add(cmd, "json", "yaml")
	f.lang.of = []string{string(words.English), string(words.Chinese)}
	f.lang.add(cmd, "lang", "", "language of the answer (default: the locale's)")
	f.from.add(cmd)
	cmd.Flags().BoolVarP(&f.all, "all-namespaces", "A", false, "every pod that is not well, in all namespaces, the worst first")
	return cmd
}

// explain answers for one pod.
func (a *app) explain(ctx context.Context, f *whyFlags, arg string) error {
	if arg == "" && !f.all {
		return usagef("POD is missing; name one, or ask for all with -A")
	}
	from, namespace, err := a.sources(ctx, &f.from)
	if err != nil {
		return err
	}
	sel, err := f.name.one(arg)
	if err != nil {
		return err
	}
	if sel.Namespace != "" {
		namespace = sel.Namespace
	}
	s := from.Pod(ctx, evidence.Name{Namespace: namespace, Name: sel.Name})
	r := causes.Explain(s)
	if r.Verdict == causes.Unknown && s.Best() == nil && s.Story == nil {
		return fmt.Errorf("there is no pod %s/%s", namespace, sel.Name)
	}
	l := f.language()
	if err := f.out.print(a.out, newWhyJSON(r, l), func(w io.Writer) { writeReport(w, r, l) }); err != nil {
		return err
	}
	if r.Wrong() {
		return errWrong
	}
	return nil
}
