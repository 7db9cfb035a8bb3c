package causes

import (
	"cmp"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// startErrors are the errors of a start that leave a container waiting for its next try, with their causes.
var startErrors = map[string]string{
	"CreateContainerError": "start.createFailed", "RunContainerError": "start.runFailed", "PostStartHookError": "start.postStartFailed",
}

// startsFail finds containers whose last start failed, as the story has it, while their status still shows how an earlier
// run ended, or only that the kubelet waits before the next try.
func startsFail(c *Case) (out []Finding) {
	if c.Phase == Terminating {
		return nil
	}
	for _, k := range c.containers() {
		call := c.failedStart(k)
		if call == nil || k.State.Waiting != nil && startErrors[k.State.Waiting.Reason] != "" || k.State.Running != nil || neverRan(k.LastTerminationState.Terminated) {
			continue
		}
		args := c.containerArgs(k, call.Error, plain(cmp.Or(call.Fields["message"], call.Error)))
		f := c.found(startErrors[call.Error], k.Name, args, Certain, call.Began, c.call(call))
		for i := range c.Story.Failed {
			if inner := &c.Story.Failed[i]; isCallOf(inner, ofRuntime) && !inner.Began.Before(call.Began) && !inner.Ended.After(call.Ended) {
				f.Args["message"] = plain(inner.Error)
				f.Evidence = append(f.Evidence, c.call(inner))
			}
		}
		f.Next = c.nextTry(k)
		out = append(out, f)
	}
	return out
}

// failedStart returns the last call that started a container, if it failed for a reason that its status would show for a
// moment only; nil: it did not, or is not seen.
func (c *Case) failedStart(k container) *evidence.Call {
	if c.Story == nil {
		return nil
	}
	for i := range c.Story.Failed {
		call := &c.Story.Failed[i]
		if isCallOf(call, ofFunction("startContainer")) && call.Fields["container"] == k.Name && startErrors[call.Error] != "" {
			return call
		}
	}
	return nil
}
