package causes

import (
	"slices"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
)

// whereabouts finds where the pod is: what goes on for it, or what it waits for, by its story, or else by its object. It is what is
// to be said of a pod while no cause is found.
func (c *Case) whereabouts(r *Report) *Finding {
	if c.Story != nil && c.Story.Whereabouts.ID != "" && Named(c.Story.Whereabouts.ID) != nil {
		return c.inStory()
	}
	id, args := c.byObject(r), Args{}
	if name := c.runningHook(); id == whereIn[Terminating] && name != "" {
		id, args["container"] = "where.preStop", name
	}
	f := c.found(id, "", args, Certain, r.Since)
	return &f
}

// inStory returns where the pod is by its story.
func (c *Case) inStory() *Finding {
	at := &c.Story.Whereabouts
	args := Args{}
	for k, v := range at.Args {
		args[k] = v
	}
	f := c.found(at.ID, "", args, Certain, at.Since)
	k := at.Call
	if k == nil {
		return &f
	}
	title := titleOf(k)
	f.Args["step"], f.Args["stepZh"] = title.En, title.Zh
	if step := probes.MustLoad().Step(k.Step); step != nil {
		f.Args["what"], f.Args["whatZh"] = step.Story.Waits.En, step.Story.Waits.Zh
	}
	f.Evidence = []Evidence{c.call(k)}
	return &f
}

// whereIn has the ids of where a pod is of which only the object is known, by its phase.
var whereIn = map[Phase]string{
	Unscheduled: "where.unscheduled", Bound: "where.bound", Creating: "where.creating", Init: "where.init", Starting: "where.starting",
	Unready: "where.firstProbes", Terminating: "where.terminating",
}

// byObject returns the id of where the pod is by its object.
func (c *Case) byObject(r *Report) string {
	switch id, ok := whereIn[c.Phase]; {
	case objectPhases[c.Name.Kind] != "" && r.State == life.Idle:
		return "where." + string(c.Phase) + "Well"
	case objectPhases[c.Name.Kind] != "":
		return "where." + string(c.Phase) + "Waits"
	case r.unknown:
		return "where.unknown"
	case r.State == life.Retrying:
		return "where.triesAgain"
	case r.State == life.Idle:
		return "where.ready"
	case ok && r.State < life.Done:
		return id
	}
	return "where.over"
}

// runningHook returns the container whose preStop hook runs; empty: none is known to run one.
func (c *Case) runningHook() string {
	if !c.terminating() || c.hookIsOver() {
		return ""
	}
	now, _ := c.stopping()
	for _, k := range now {
		if spec := c.specOf(k.Name); spec != nil && spec.Lifecycle != nil && spec.Lifecycle.PreStop != nil {
			return k.Name
		}
	}
	return ""
}

// lastFailed returns the call that failed last, but for those that the kubelet itself took back; nil: there is none.
func (c *Case) lastFailed() *evidence.Call {
	if c.Story == nil {
		return nil
	}
	for i := range c.Story.Failed {
		k := &c.Story.Failed[i]
		// The kubelet minds no container that is gone already when it looks at it or removes it for a pod that ends.
		if !canceled.MatchString(k.Error) && !(c.terminating() && notFound.MatchString(k.Error)) {
			return k
		}
	}
	return nil
}

// canceled is the error of a call whose caller has taken it back, as health probes are when their pod ends.
var canceled = expr(`(?:code = Canceled desc = |: |^)context canceled$`)

// failing finds what fails for a pod in trouble when no cause of the table is likely: the call that failed last, or else the
// last warning about the pod, with its own words.
func (c *Case) failing(r *Report) []Finding {
	if r.State != life.Retrying && r.State != life.Stuck {
		return nil
	}
	if k := c.lastFailed(); k != nil && !r.shows(k.Seq) {
		args := c.callArgs(k)
		title := titleOf(k)
		args["step"], args["stepZh"], args["error"] = title.En, title.Zh, plain(k.Error)
		return []Finding{c.found("general.fails", c.containerOf(k), args, Likely, k.Began, c.call(k))}
	}
	for _, k := range c.containers() {
		if w := k.State.Waiting; w != nil && life.IsFailure(w.Reason) {
			return []Finding{c.found("general.waits", k.Name, c.containerArgs(k, w.Reason, w.Message), Likely, c.Since, c.waits(k))}
		}
	}
	open := slices.DeleteFunc(c.openWarnings(), func(e *evidence.Event) bool { return canceled.MatchString(e.Message) })
	if len(open) > 0 {
		e := open[len(open)-1]
		return []Finding{c.found("general.warned", containerOfPath(e.FieldPath), Args{"reason": e.Reason, "message": plain(e.Message)}, Likely, e.First, c.event(e))}
	}
	return nil
}
