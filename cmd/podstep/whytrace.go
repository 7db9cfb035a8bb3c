package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/gather"
)

// askTrace asks a trace file: one pod, or, if none is named, all of them.
func (a *app) askTrace(f *whyFlags, arg string) (func(context.Context) (whyAnswer, error), error) {
	if f.watch {
		return nil, usagef("--watch does not go with --trace: what a file says does not change")
	}
	t, err := gather.OpenTrace(f.trace)
	if err != nil {
		return nil, err
	}
	if arg == "" {
		return func(context.Context) (whyAnswer, error) { return newManyAnswer(t.All()), nil }, nil
	}
	sel, err := f.name.one(arg)
	if err != nil {
		return nil, err
	}
	return func(context.Context) (whyAnswer, error) {
		found := t.Named(sel.Namespace, sel.Name)
		switch len(found) {
		case 0:
			return nil, fmt.Errorf("%s has no pod %s", f.trace, strings.TrimPrefix(sel.Written(), "default/"))
		case 1:
			return &oneAnswer{causes.Explain(t.Pod(found[0]))}, nil
		}
		return nil, several(found)
	}, nil
}
