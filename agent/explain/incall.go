package explain

import (
	"time"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// inCall makes a finding of the call that goes on for the pod: what the call is for.
func (c *check) inCall() *Finding {
	took := history.Since(c.p.Since, c.now)
	f := c.found(history.None, c.callPhrase(took))
	if sp := c.h.Span(c.p.At); sp != nil {
		f.Evidence = c.evidence(sp.Enter)
	}
	if c.h.Role(c.p.Step) == probes.RoleVolumes && c.volumeError(f) {
		return f
	}
	if c.p.Deleting && c.p.Work == life.WorkSync {
		f.More = append(f.More, Phrase{CallDeleting, Args{"ago": history.Since(c.p.DeletedAt, c.now)}})
	}
	if took > life.StuckAfter {
		f.More = append(f.More, Phrase{CallLong, Args{}})
	}
	return f
}

func (c *check) callPhrase(took time.Duration) Phrase {
	st := c.h.Step(c.p.Step)
	waits := st.Means().Waits
	switch {
	case st.Means().Role == probes.RolePullWait && c.inPullQueue():
		return c.pullQueue(took)
	case waits.En == "":
		return Phrase{CallAt, Args{"pod": c.name, "step": st.Title(), "took": took}}
	}
	return Phrase{CallFor, Args{"pod": c.name, "what": waits, "step": st.Title(), "took": took}}
}

// inPullQueue reports whether the pod has to wait for its turn to pull an image: the kubelet
// has not asked the runtime for the image yet.
func (c *check) inPullQueue() bool {
	if !c.h.EpochBefore(c.at).Sees(c.h.StepFor(probes.RolePull), c.at) {
		return false
	}
	return !c.h.GoesOn(c.pod, probes.RolePull, c.p.Since, c.at)
}

// pullQueue says why a pull waits, and for which pod's pull.
func (c *check) pullQueue(took time.Duration) Phrase {
	wait := c.h.StepFor(probes.RolePullWait)
	for i := range c.h.Pods() {
		p := c.world.Pod(i)
		if i > 0 && p.At != history.None && p.Step == wait && c.h.GoesOn(i, probes.RolePull, p.Since, c.at) {
			return Phrase{ImageQueueBehind, Args{"pod": c.name, "other": c.h.Pod(i).Entity.Name, "took": took}}
		}
	}
	return Phrase{ImageQueue, Args{"pod": c.name, "took": took}}
}

// volumeError adds to f why a volume of the pod is not mounted. It returns false if the reason
// is not known. SyncPod does not know it: the error came up in a goroutine of the volume
// manager.
func (c *check) volumeError(f *Finding) bool {
	call, ok := c.h.LastCall(c.pod, c.h.StepFor(probes.RoleVolumeOperation), c.at)
	if !ok || !call.Span.Failed {
		return false
	}
	evidence := c.evidence(call.Exit)
	if evidence == nil {
		return false
	}
	why := call.Text("eventErr")
	if why == "" {
		why = words.OneLine(call.Err)
	}
	f.More = append(f.More, Phrase{Detail, Args{"error": words.Cut(why, maxReason)}})
	f.Evidence = evidence
	return true
}
