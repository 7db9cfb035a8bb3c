package main

import (
	"errors"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/spf13/cobra"
)

// podName reads how a person names pods on the command line.
type podName struct{ namespace string }

func (p *podName) add(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&p.namespace, "namespace", "n", "", "`NAMESPACE` of the pod (default: any)")
	cmd.RegisterFlagCompletionFunc("namespace", cobra.NoFileCompletions)
}

// one selects exactly one pod.
func (p *podName) one(arg string) (*agentpb.PodSelector, error) {
	sel, err := p.some(arg)
	if err != nil {
		return nil, err
	}
	if sel.HasGlob() {
		return nil, usagef("%q can match several pods, and this command takes one; name it in full, see podstep pods", arg)
	}
	return sel, nil
}

// some selects pods by a name or a glob; "" is all of the namespace.
func (p *podName) some(arg string) (*agentpb.PodSelector, error) {
	sel, err := agentpb.ParsePods(arg)
	switch {
	case errors.Is(err, agentpb.ErrPodForm):
		return nil, usagef("%q is not the name of a pod; write NAME, NAMESPACE/NAME or -n NAMESPACE NAME", arg)
	case err != nil:
		return nil, usagef("%v", err)
	case p.namespace == "" || p.namespace == sel.Namespace:
		return sel, nil
	case sel.Namespace != "":
		return nil, usagef("%q is in namespace %s, but -n is %s; give one of them", arg, sel.Namespace, p.namespace)
	}
	if err := agentpb.CheckNamespace(p.namespace); err != nil {
		return nil, usagef("%v", err)
	}
	sel.Namespace = p.namespace
	return sel, nil
}
