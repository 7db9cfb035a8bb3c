package causes

import (
	"time"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// sourceChecks are the checks of table/source.yaml.
var sourceChecks = []check{undelivered, heldBack, busyWorker}

// undelivered finds that the kubelet lives, and does nothing for a pod that is bound to its node.
func undelivered(c *Case) []Finding {
	if c.Phase != Bound || !c.kubeletLives() {
		return nil
	}
	since := c.Since
	if k := c.Kubelet; k != nil && k.HasPod != nil {
		if *k.HasPod {
			return nil
		}
		return []Finding{c.found("source.notDelivered", "", nil, Certain, since, Evidence{Source: evidence.Port, Where: words.Same("/pods"), Text: words.Text("does not list the pod", "没有列出这个 Pod"), At: c.Now})}
	}
	return []Finding{c.found("source.noReaction", "", nil, Possible, since, c.status(inStatus, words.Text("no startTime, though the node's lease is renewed", "没有 startTime，但节点在续租"), since))}
}

// kubeletLives reports whether the kubelet of the pod's node renews its lease, and
// reports itself as ready.
func (c *Case) kubeletLives() bool {
	at, ok := c.renewed()
	k := c.nodeReady()
	return ok && c.Now.Sub(at) <= leaseLasts && k != nil && k.Status == "True"
}

// heldBack finds that the kubelet did not let a static pod start when it last looked at the pod.
func heldBack(c *Case) []Finding {
	if c.Story == nil {
		return nil
	}
	for i := range c.Story.Done {
		k := &c.Story.Done[i]
		if k.Fields["canEverStart"] == "" {
			continue
		}
		if k.Fields["canStart"] == "false" && k.Fields["canEverStart"] == "true" {
			shown := c.call(k)
			shown.Text = words.Text("the kubelet does not let it start yet", "kubelet 还不让它启动")
			return []Finding{c.found("source.predecessor", "", nil, Certain, k.Began, shown)}
		}
		break
	}
	return nil
}

// longTurn is how long a turn of a worker has to last before a change that waits for
// its end is worth a word.
const longTurn = 30 * time.Second

// busyWorker finds that a change of the pod waits for the worker's turn to end.
func busyWorker(c *Case) []Finding {
	if c.Story == nil || c.Pod == nil || c.Pod.Status.ObservedGeneration == 0 || c.Pod.Generation <= c.Pod.Status.ObservedGeneration {
		return nil
	}
	open := c.Story.Open
	for i := range open {
		if !isCallOf(&open[i], ofRole(probes.RoleTurn)) || c.Now.Sub(open[i].Began) < longTurn {
			continue
		}
		last := &open[len(open)-1]
		args := c.callArgs(last)
		args["took"] = words.Took(c.Now.Sub(last.Began))
		return []Finding{c.found("source.workerBusy", "", args, Certain, last.Began, c.call(last))}
	}
	return nil
}
