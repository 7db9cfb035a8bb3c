package main

import (
	"path"
	"regexp"
	"strings"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/spf13/cobra"
)

// podName reads how a person names pods on the command line.
type podName struct{ namespace string }

func (p *podName) add(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&p.namespace, "namespace", "n", "", "`NAMESPACE` of the pod (default: any)")
	cmd.RegisterFlagCompletionFunc("namespace", cobra.NoFileCompletions)
}

// Names that the API server takes: DNS labels, joined by dots for pods.
var (
	plainName      = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	plainNamespace = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	globName       = regexp.MustCompile(`^[-a-z0-9.*?\[\]^\\]+$`)
)

// one selects exactly one pod.
func (p *podName) one(arg string) (*agentpb.PodSelector, error) {
	sel, err := p.some(arg)
	if err != nil {
		return nil, err
	}
	if isGlob(sel.Name) || isGlob(sel.Namespace) {
		return nil, usagef("%q may mean several pods, and this is for one; name it in full, see podstep pods", arg)
	}
	return sel, nil
}

// some selects pods by a name or a glob; "" is all of the namespace.
func (p *podName) some(arg string) (*agentpb.PodSelector, error) {
	sel := &agentpb.PodSelector{Namespace: p.namespace}
	if arg != "" {
		if err := p.split(arg, sel); err != nil {
			return nil, err
		}
		if err := checkName("pod", sel.Name, plainName, 253); err != nil {
			return nil, err
		}
	}
	if sel.Namespace == "" {
		return sel, nil
	}
	return sel, checkName("namespace", sel.Namespace, plainNamespace, 63)
}

func (p *podName) split(arg string, sel *agentpb.PodSelector) error {
	before, name, two := strings.Cut(arg, "/")
	switch {
	case !two:
		sel.Name = arg
	case before == "pod" || before == "pods" || before == "po":
		// kubectl prints and takes pod/NAME. A namespace that is called so can
		// still be named with -n.
		sel.Name = name
	case before == "" || name == "" || strings.Contains(name, "/"):
		return usagef("%q is no name of a pod; write NAME, NAMESPACE/NAME or -n NAMESPACE NAME", arg)
	case p.namespace != "" && p.namespace != before:
		return usagef("%q is in namespace %s, but -n says %s; give one of them", arg, before, p.namespace)
	default:
		sel.Namespace, sel.Name = before, name
	}
	return nil
}

func checkName(what, name string, plain *regexp.Regexp, most int) error {
	if isGlob(name) {
		if _, err := path.Match(name, ""); err != nil || !globName.MatchString(name) {
			return usagef("%q is no glob for the name of a %s; globs are like web-* or db-[0-2]", name, what)
		}
		return nil
	}
	if len(name) > most || !plain.MatchString(name) {
		return usagef("%q is no name of a %s; names have small letters, digits, dashes, and at most %d characters", name, what, most)
	}
	return nil
}

func isGlob(s string) bool { return strings.ContainsAny(s, `*?[]\^`) }

// called is how a person would write the selection.
func called(sel *agentpb.PodSelector) string {
	switch {
	case sel.Name == "" && sel.Namespace == "":
		return "any pod"
	case sel.Name == "":
		return "any pod of " + sel.Namespace
	case sel.Namespace == "":
		return sel.Name
	}
	return sel.Namespace + "/" + sel.Name
}
