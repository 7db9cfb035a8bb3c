package main

import (
	"errors"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
	"github.com/spf13/cobra"
)

// podName reads how a person names pods on the command line.
type podName struct{ namespace string }

func (p *podName) add(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&p.namespace, "namespace", "n", "", "`NAMESPACE` of the pod (default: any)")
	cmd.RegisterFlagCompletionFunc("namespace", cobra.NoFileCompletions)
}

// one returns the selector of exactly one pod.
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

// some returns the selector of the pods of a name or a glob; "" stands for all of the namespace.
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

// stagePrefix lets all steps of a stage be named at once.
const stagePrefix = "stage:"

// stepsNamed returns the steps that a glob over names, or "stage:NAME", stands for. A glob
// without a step is an error: otherwise nothing would ever happen, and podstep would not say
// why.
func stepsNamed(c *probes.Catalogue, glob string) ([]*probes.Step, error) {
	if stage, ok := strings.CutPrefix(glob, stagePrefix); ok {
		return stepsOfStage(c, stage)
	}
	if _, err := path.Match(glob, ""); err != nil || glob == "" {
		return nil, usagef("%q is not a step or a glob; write sync.volumes, cri.* or stage:syncpod", glob)
	}
	var found []*probes.Step
	for i := range c.Steps {
		if ok, _ := path.Match(glob, c.Steps[i].Name); ok {
			found = append(found, &c.Steps[i])
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	names := make([]string, len(c.Steps))
	for i, s := range c.Steps {
		names[i] = s.Name
	}
	if strings.Contains(glob, ",") {
		return nil, usagef("%q is not one step; write one, or a glob like cri.*", glob)
	}
	return nil, unknown("step", glob, names, "podstep steps lists them")
}

func stepsOfStage(c *probes.Catalogue, stage string) ([]*probes.Step, error) {
	var found []*probes.Step
	for i := range c.Steps {
		if c.Steps[i].Stage == stage {
			found = append(found, &c.Steps[i])
		}
	}
	if len(found) > 0 {
		return found, nil
	}
	names := make([]string, len(c.Stages))
	for i, s := range c.Stages {
		names[i] = s.Name
	}
	return nil, unknown("stage", stage, names, "stages are "+strings.Join(names, " "))
}

// stepGlobs returns globs that the agent knows: it replaces stages by their steps.
func stepGlobs(c *probes.Catalogue, given []string) (globs []string, err error) {
	for _, g := range given {
		steps, err := stepsNamed(c, g)
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(g, stagePrefix) {
			globs = append(globs, g)
			continue
		}
		for _, s := range steps {
			globs = append(globs, s.Name)
		}
	}
	return globs, nil
}

func unknown(what, name string, names []string, otherwise string) error {
	if near := nearest(name, names); len(near) > 0 {
		return usagef("there is no %s %q; did you mean %s?", what, name, strings.Join(near, ", "))
	}
	return usagef("there is no %s %q; %s", what, name, otherwise)
}

// nearest returns up to three names that a person may have meant.
func nearest(want string, names []string) []string {
	want = strings.ToLower(strings.Map(func(r rune) rune {
		if strings.ContainsRune(`*?[]^\`, r) {
			return -1
		}
		return r
	}, want))
	if want == "" {
		return nil
	}
	type near struct {
		name     string
		distance int
	}
	var found []near
	for _, n := range names {
		_, last, _ := strings.Cut(n, ".")
		d := min(distance(want, n), distance(want, last)+1)
		if len(want) > 2 && strings.Contains(n, want) {
			d = 0
		}
		if d <= max(1, len(want)/3) {
			found = append(found, near{n, d})
		}
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].distance < found[j].distance })
	var out []string
	for _, f := range found {
		if len(out) < 3 && !slices.Contains(out, f.name) {
			out = append(out, f.name)
		}
	}
	return out
}

// distance counts the letters to insert, remove, replace or swap with a neighbour to turn a into b.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
