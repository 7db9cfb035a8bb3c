package causes

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes/words"
)

// complete adds to a report what is to be said of the state where no cause is found, or none that is more than possible.
func (c *Case) complete(r *Report) {
	if len(r.Findings) == 0 || r.Findings[0].Confidence == Possible {
		r.Findings = append(c.failing(r), r.Findings...)
	}
	switch {
	case len(r.Findings) > 0:
	case r.State == life.Idle:
		r.Findings = c.endedLately()
	case r.State == life.Stuck:
		r.Findings = []Finding{c.unexplained()}
	}
}

// longest returns how long a phase may take: a pod that ends may use its grace period, and one
// that starts the time that its health probes give it.
func (c *Case) longest(usual time.Duration) time.Duration {
	switch {
	case c.Spec == nil: // it is known by its story alone
	case c.Phase == Terminating && c.Spec.DeletionGracePeriodSeconds != nil:
		return time.Duration(*c.Spec.DeletionGracePeriodSeconds)*time.Second + usual
	case c.Phase == Unready || c.Phase == Init:
		return kubeapi.Patience(c.Spec) + usual
	}
	return usual
}

// worksOn reports whether a pod is unready only because some of its containers have done
// their work, and are not started again, while others go on: such as in a Job.
func (c *Case) worksOn() bool {
	if c.Phase != Unready || c.Spec == nil || c.Spec.Spec.RestartPolicy == corev1.RestartPolicyAlways {
		return false
	}
	done := false
	for _, k := range c.Spec.Status.ContainerStatuses {
		switch {
		case k.State.Terminated != nil:
			done = true
		case !k.Ready:
			return false
		}
	}
	return done
}

// unexplained makes the finding on a pod, or an owner, that takes too long and for which no cause is found.
func (c *Case) unexplained() Finding {
	if c.Phase == Missing && len(c.Cluster.Owners) > 0 {
		return c.ownerUnexplained(&c.Cluster.Owners[0])
	}
	f := c.found("unexplained", "", Args{"phase": c.Phase.In(words.English), "phaseZh": c.Phase.In(words.Chinese)}, Possible, c.Since)
	if c.Spec != nil {
		f.Evidence = append(f.Evidence, c.status(inStatus, words.Same("phase "+string(c.Spec.Status.Phase)), c.Since))
	}
	if c.Story != nil {
		for i := range c.Story.Open {
			f.Evidence = append(f.Evidence, c.call(&c.Story.Open[i]))
		}
		for i := range c.Story.Failed {
			f.Evidence = append(f.Evidence, c.call(&c.Story.Failed[i]))
		}
	}
	return f
}
