package causes

import (
	"slices"
	"strconv"
	"time"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// controllersChecks are the checks of table/controllers.yaml.
var controllersChecks = []check{idleOwners, givenUp}

// denied is the answer that an owner got when it could not create a pod.
type denied struct {
	owner *evidence.Owner
	text  string
	since time.Time
	shown Evidence
	sure  Confidence
}

// freshDenial is how old an event of an owner may be. The owner tries again with a back-off
// that grows to a quarter of an hour.
const freshDenial = 20 * time.Minute

// denials returns the answers that keep owners from creating pods: from their conditions, which
// go away when a try succeeds, and from their events.
func (c *Case) denials() (out []denied) {
	for i := range c.Cluster.Owners {
		o := &c.Cluster.Owners[i]
		for _, k := range o.Conditions {
			if k.Type == "ReplicaFailure" && k.Status == "True" && k.Reason != "FailedDelete" {
				out = append(out, denied{o, k.Message, k.Since, c.object(words.With(words.Text("%s %s condition ReplicaFailure", "%s %s 的 condition ReplicaFailure"), o.Kind, o.Name), words.Same(k.Reason+": "+k.Message), k.Since), Certain})
			}
		}
		if e := c.lastCreate(o); e != nil && e.Reason != "SuccessfulCreate" && c.Now.Sub(e.Last) < freshDenial {
			out = append(out, denied{o, e.Message, e.First, c.event(e), Likely})
		}
	}
	return out
}

// lastCreate returns the last event of an owner about a pod that it created, or could not create.
func (c *Case) lastCreate(o *evidence.Owner) *evidence.Event {
	return c.lastOwnerEvent(o, "FailedCreate", "SuccessfulCreate", "ReplicaSetCreateError")
}

// lastOwnerEvent returns the last event of an owner with one of some reasons; nil: there is none.
func (c *Case) lastOwnerEvent(o *evidence.Owner, reasons ...string) *evidence.Event {
	for i := range slices.Backward(c.Cluster.Events) {
		e := &c.Cluster.Events[i]
		if e.Kind == o.Kind && e.Name == o.Name && slices.Contains(reasons, e.Reason) {
			return e
		}
	}
	return nil
}

// askedOwner returns the owner that was asked about; nil: a pod was. The other owners are above and below this one: a
// Deployment has ReplicaSets of older rollouts, which are scaled to zero.
func (c *Case) askedOwner() *evidence.Owner {
	if c.Phase != Missing || len(c.Cluster.Owners) == 0 {
		return nil
	}
	return &c.Cluster.Owners[0]
}

func (c *Case) matchDenied(cause *Cause, m *Denied) (out []Finding) {
	for _, d := range c.denials() {
		args := c.ownerArgs(d.owner)
		args["answer"] = d.text
		if m.Text.in(d.text, args) {
			out = append(out, c.found(cause.ID, "", args, d.sure, d.since, d.shown))
		}
	}
	return out
}

func (c *Case) ownerArgs(o *evidence.Owner) Args {
	args := Args{"kind": o.Kind, "owner": o.Name}
	if o.Wanted >= 0 {
		args["wanted"] = strconv.Itoa(int(o.Wanted))
	}
	return args
}

// idleOwners finds the owners that make no pods because they are not meant to.
func idleOwners(c *Case) (out []Finding) {
	if o := c.askedOwner(); o != nil {
		for _, idle := range []struct {
			id   string
			text probes.Text
			is   bool
		}{
			{"controllers.deleting", words.Text("deletionTimestamp is set", "已设置 deletionTimestamp"), o.Deleting},
			{"controllers.suspended", words.Same("spec.suspend: true"), o.Suspended},
			{"controllers.paused", words.Same("spec.paused: true"), o.Paused && o.Made <= 0},
			{"controllers.noNodes", words.Same("status.desiredNumberScheduled: 0"), o.Kind == "DaemonSet" && o.Wanted == 0},
			{"controllers.scaledToZero", words.Same("spec.replicas: 0"), o.Kind != "DaemonSet" && o.Kind != "Job" && o.Wanted == 0},
		} {
			if idle.is {
				out = append(out, c.found(idle.id, "", c.ownerArgs(o), Certain, time.Time{}, c.object(words.Same(o.Kind+" "+o.Name), idle.text, c.Now)))
			}
		}
	}
	return out
}

// givenUp finds that an owner does not try any more.
func givenUp(c *Case) (out []Finding) {
	for i := range c.Cluster.Owners {
		if i > 0 && c.Phase == Missing {
			break // a CronJob has Jobs that failed long ago
		}
		o := &c.Cluster.Owners[i]
		for _, k := range o.Conditions {
			id := ""
			switch {
			case o.Kind == "Job" && k.Type == "Failed" && k.Status == "True":
				id = "controllers.jobGaveUp"
				if c.Phase == Missing {
					id = "controllers.jobFailed"
				}
			case o.Kind == "Deployment" && k.Type == "Progressing" && k.Reason == "ProgressDeadlineExceeded":
				id = "controllers.progressDeadline"
			default:
				continue
			}
			args := c.ownerArgs(o)
			args["reason"], args["message"] = k.Reason, k.Message
			out = append(out, c.found(id, "", args, Certain, k.Since, c.object(words.With(words.Text("%s %s condition %s", "%s %s 的 condition %s"), o.Kind, o.Name, k.Type), words.Same(k.Reason+": "+k.Message), k.Since)))
		}
	}
	return out
}

// ownerUnexplained makes the finding on an owner that has fewer pods than it wants, and of which nobody says why.
func (c *Case) ownerUnexplained(o *evidence.Owner) Finding {
	args := c.ownerArgs(o)
	args["made"] = strconv.Itoa(int(max(0, o.Made)))
	shown := c.object(words.Same(o.Kind+" "+o.Name), words.With(words.Text("wanted: %d, made: %d", "想要 %d 个，已创建 %d 个"), o.Wanted, o.Made), time.Time{})
	if o.Behind() {
		return c.found("controllers.notSynced", "", args, Likely, c.ownerSince(o), shown,
			c.object(words.Same(o.Kind+" "+o.Name), words.With(words.Text("metadata.generation: %d, status.observedGeneration: %d", "metadata.generation: %d，status.observedGeneration: %d"), o.Generation, o.Observed), time.Time{}))
	}
	return c.found("controllers.tooFew", "", args, Possible, c.ownerSince(o), shown)
}
