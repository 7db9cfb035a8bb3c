package main

import (
	"context"
	"time"

	"github.com/podstep/podstep/agent/explain/causes"
)

// victimsWithin is how long the other victims of a pod's culprit are looked for: the answer is there already.
const victimsWithin = time.Second

// addVictims adds to a report the other pods that its culprit keeps: of the cluster or, if podstep may not list those, of
// the pod's namespace. What is not found in time is left out. With --watch none is looked for: it would list the cluster's
// pods every two seconds.
func (a *app) addVictims(ctx context.Context, f *whyFlags, r *causes.Report) {
	if r.Culprit() == nil || f.watch {
		return
	}
	from, _, err := a.sources(&f.from, true)
	if err != nil || from.API == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, victimsWithin)
	defer cancel()
	m, err := from.All(ctx, "", unwell)
	if err != nil {
		if m, err = from.All(ctx, r.Pod.Namespace, unwell); err != nil {
			return
		}
	}
	for _, s := range m.Pods {
		r.AddVictim(s.Name, causes.Explain(s).Culprit())
	}
}
