package causes

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/probes/words"
)

// sandboxChecks are the checks of table/sandbox.yaml.
var sandboxChecks = []check{(*Case).flappingSandbox, (*Case).noSandbox, (*Case).missingRuntimeClass}

// A sandbox dies by itself if it is made anew flaps times within flapsSpan, the last time not
// longer ago than flapsFresh. Once or twice is a restart of the node or of the runtime.
const (
	flaps      = 3
	flapsFresh = 5 * time.Minute
	flapsSpan  = 30 * time.Minute
)

// flappingSandbox finds a sandbox that has to be made anew again and again.
func (c *Case) flappingSandbox() []Finding {
	for i := len(c.Cluster.Events) - 1; i >= 0; i-- {
		e := &c.Cluster.Events[i]
		span := e.Last.Sub(e.First)
		if e.Reason != "SandboxChanged" || !c.ofPod(e) || e.Count < flaps || c.Now.Sub(e.Last) > flapsFresh || span/time.Duration(e.Count) > flapsSpan/flaps {
			continue
		}
		args := Args{"count": strconv.Itoa(e.Count), "span": words.Took(max(span, time.Second))}
		return []Finding{c.found("sandbox.flaps", "", args, Likely, e.First, c.event(e))}
	}
	return nil
}

// How long the sandbox may take before silence is worth a word: attaching volumes takes
// its time.
const (
	sandboxTakes = time.Minute
	volumesTake  = 2 * time.Minute
)

// noSandbox finds a pod without a sandbox that the kubelet has had for long, and about which
// nothing else is known.
func (c *Case) noSandbox() []Finding {
	if c.Spec == nil || c.Spec.Spec.NodeName == "" {
		return nil
	}
	k := condition(c.Spec, corev1.PodReadyToStartContainers)
	longest := sandboxTakes
	if len(c.claimed()) > 0 {
		longest = volumesTake
	}
	if k == nil || k.Status != corev1.ConditionFalse || c.Age() < longest {
		return nil
	}
	return []Finding{c.found("sandbox.none", "", nil, Possible, c.Since,
		c.status(words.Same("condition "+string(corev1.PodReadyToStartContainers)), words.Same(string(k.Status)+" "+k.Reason), k.LastTransitionTime.Time))}
}

// missingRuntimeClass finds that the pod's RuntimeClass is gone.
func (c *Case) missingRuntimeClass() []Finding {
	if c.Spec == nil || c.Spec.Spec.RuntimeClassName == nil {
		return nil
	}
	name := *c.Spec.Spec.RuntimeClassName
	if what := "runtimeclasses/" + name; c.isMissing(what) && c.Spec.Spec.NodeName != "" {
		return []Finding{c.found("sandbox.runtimeClassMissing", name, Args{"subject": name}, Certain, c.Since,
			c.object(words.Same(what), words.Text("the API server has no RuntimeClass of this name", "API server 上没有这个名字的 RuntimeClass"), time.Time{}))}
	}
	return nil
}
