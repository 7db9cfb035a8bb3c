package causes

import (
	"slices"
	"strconv"
	"time"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// generalChecks are the checks of table/general.yaml.
var generalChecks = []check{callHangs, callFailed, waitsForStatus, looksElsewhere, fileHangs, behindClaim, stoppedProcesses}

// runtimeLong is how long a call to the runtime may go on before it is worth a word, and failedFor for how long the last
// call of a kind has to have failed.
const (
	runtimeLong = 20 * time.Second
	failedFor   = 15 * time.Second
)

// takesLong are the roles of calls to the runtime that may take long: a pull goes on for as long as the image needs, a
// container may use its grace period to end, and a command works as long as it likes.
var takesLong = []probes.Role{probes.RolePull, probes.RoleStop, probes.RoleExec}

// callHangs finds a call to the runtime that does not return, whatever the kubelet makes it for. While a container is
// stopped, the runtime may have its reasons.
func callHangs(c *Case) []Finding {
	if c.Story == nil {
		return nil
	}
	for i := range c.Story.Open {
		k := &c.Story.Open[i]
		took := c.Now.Sub(k.Began)
		if !isCallOf(k, ofRuntime) || took < runtimeLong || isCallOf(k, mayTakeLong) && !overruns(k, took) {
			continue
		}
		sure := Certain
		if isCallOf(k, ofRole(probes.RoleStop)) {
			sure = Likely
		}
		args := c.callArgs(k)
		title := titleOf(k)
		args["step"], args["stepZh"] = title.En, title.Zh
		return []Finding{c.found("general.callHangs", c.containerOf(k), args, sure, k.Began, c.call(k))}
	}
	return nil
}

// ofRuntime wants the calls to the container runtime.
func ofRuntime(st *probes.Step) bool { return st.CRI != "" }

func mayTakeLong(st *probes.Step) bool { return slices.Contains(takesLong, st.Story.Role) }

// overruns reports whether a call has gone on for longer than it allows the runtime: the command of a health probe, or the
// stop of a container, which the runtime kills after its grace period.
func overruns(k *evidence.Call, took time.Duration) bool {
	text := k.Fields["timeout"]
	if _, err := strconv.Atoi(text); err == nil {
		text += "s" // StopContainer has seconds
	}
	allowed, err := time.ParseDuration(text)
	return !isCallOf(k, ofRole(probes.RolePull)) && err == nil && allowed > 0 && took > allowed+runtimeLong/2
}

// looks wants the calls by which the kubelet looks at a pod, and what it makes of their answers. No turn of the worker
// fails when they do.
func looks(st *probes.Step) bool {
	return ofFunction("ContainerStatus")(st) || ofFunction("PodSandboxStatus")(st) || ofFunction("updateCache")(st)
}

// callFailed finds that the kubelet failed to look at a pod and has not managed since. It learns nothing of the pod's
// containers meanwhile.
func callFailed(c *Case) []Finding {
	if c.Story == nil || !c.in(beforeStart) && !c.terminating() && c.Phase != Ready {
		return nil
	}
	wanted := looks
	if c.Phase == Ready { // of a container that was removed meanwhile, the last look fails
		wanted = ofFunction("updateCache")
	}
	i := slices.IndexFunc(c.Story.Failed, func(k evidence.Call) bool {
		// Of a pod that ends, the kubelet looks at containers that it has just removed, and minds no such answer.
		return isCallOf(&k, wanted) && !(c.terminating() && isCallOf(&k, ofRole(probes.RoleContainerStatus)) && notFound.MatchString(k.Error))
	})
	if i < 0 || c.lookedSince(&c.Story.Failed[i]) {
		return nil
	}
	k := &c.Story.Failed[i]
	if c.Age() < failedFor {
		return nil
	}
	args := c.callArgs(k)
	title := titleOf(k)
	args["step"], args["stepZh"], args["error"] = title.En, title.Zh, plain(k.Error)
	return []Finding{c.found("source.lookFails", c.containerOf(k), args, Likely, k.Began, c.call(k))}
}

// WaitsForContainers is where a pod is whose worker has made its containers and waits for what becomes of them.
const WaitsForContainers = "where.waitsForContainers"

// waitsForStatus finds that the pod's worker waits for PLEG. If PLEG has come to a pod since, and not long ago, it goes on, slowly: then
// that pod is no culprit.
func waitsForStatus(c *Case) []Finding {
	if c.Story == nil {
		return nil
	}
	i := slices.IndexFunc(c.Story.Open, func(k evidence.Call) bool { return isCallOf(&k, ofFunction("GetNewerThan")) })
	if i < 0 || c.Now.Sub(c.Story.Open[i].Began) < answerLong {
		return nil
	}
	k, sure := &c.Story.Open[i], Certain
	args := c.callArgs(k)
	if look := c.Story.Look; look != nil && look.Began.After(k.Began) && c.Now.Sub(look.Began) < answerLong {
		sure, args["lookedAt"] = Likely, ""
	}
	return []Finding{c.found("source.waitsForStatus", "", args, sure, k.Began, c.call(k))}
}

// looksElsewhere finds that the kubelet cannot see what becomes of the pod's containers, because its look at another pod does not
// end: it looks at one pod after the other.
func looksElsewhere(c *Case) []Finding {
	s := c.Story
	if s == nil || s.Whereabouts.ID != WaitsForContainers || s.Look == nil || s.LookedAt == c.Name.String() || c.Now.Sub(s.Look.Began) < runtimeLong {
		return nil
	}
	return []Finding{c.found("source.looksElsewhere", "", nil, Likely, s.Look.Began, c.call(s.Look))}
}

// worksOnFiles are the functions that do nothing slow but to work on files, apart from the steps inside them.
var worksOnFiles = []string{"makePodDataDirs", "createPodSandbox", "generatePodSandboxConfig", "startContainer", "generateContainerConfig", "GenerateRunContainerOptions"}

// fileHangs finds that the pod's worker does not come back from such a function.
func fileHangs(c *Case) []Finding {
	k := c.innermost(answerLong, worksOnFiles...)
	if k == nil || !c.Story.Calls {
		return nil
	}
	args := c.callArgs(k)
	title := titleOf(k)
	args["step"], args["stepZh"] = title.En, title.Zh
	return []Finding{c.found("general.fileHangs", c.containerOf(k), args, Likely, k.Began, c.call(k))}
}

// notesVolumes wants the steps by which the kubelet notes the volumes of one pod after the other.
func notesVolumes(st *probes.Step) bool {
	return ofFunction("processPodVolumes")(st) || ofFunction("createVolumeSpec")(st)
}

// behindClaim finds that the kubelet does not come to the pod's volumes, because it still asks the API server for the claim of
// another pod: it notes the volumes of one pod after the other.
func behindClaim(c *Case) []Finding {
	s := c.Story
	if s == nil || s.Look == nil || !isCallOf(s.Look, notesVolumes) || s.LookedAt == c.Name.String() || c.Now.Sub(s.Look.Began) < answerLong {
		return nil
	}
	return []Finding{c.found("volumes.behindClaim", "", nil, Likely, s.Look.Began, c.call(s.Look))}
}

// answerLong is after how long the API server, or a disk, does not answer.
const answerLong = 10 * time.Second

// notFound is the error of a call about something that the runtime does not have.
var notFound = expr(`code = NotFound`)

// lookedSince reports whether a call of the same kind went well after one that failed.
func (c *Case) lookedSince(failed *evidence.Call) bool {
	return slices.ContainsFunc(c.Story.Done, func(k evidence.Call) bool {
		return k.Step == failed.Step && k.Began.After(failed.Began)
	})
}

// neverStarted is how long a container may be created after its start before that is worth a word.
const neverStarted = 10 * time.Second

// notStarted finds a container of which the runtime reports that it is created only, although the kubelet had it started
// and does nothing more for it.
func notStarted(c *Case) []Finding {
	if !c.in(beforeStart) || !c.betweenTurns() {
		return nil
	}
	i := slices.IndexFunc(c.Story.Done, func(k evidence.Call) bool {
		return isCallOf(&k, ofRole(probes.RoleContainerStatus)) && k.Fields["state"] == "CONTAINER_CREATED"
	})
	if i < 0 || c.Now.Sub(c.Story.Done[i].Began) < neverStarted {
		return nil
	}
	status := &c.Story.Done[i]
	for _, k := range c.containers() {
		e := c.containerEvent("Started", k.Name)
		if k.State.Waiting == nil || e == nil || e.Last.After(status.Began.Add(slack)) || c.endedBy(e, Strings{"Failed"}) {
			continue
		}
		shown := c.call(status)
		shown.Text = words.Same(status.Fields["state"])
		return []Finding{c.found("start.notStarted", k.Name, c.imageArgs(k.Name), Certain, status.Began, shown, c.event(e))}
	}
	return nil
}

// startedInVain is how often a container may be started before it counts that the kubelet knows of no run of it.
const startedInVain = 3

// lostSight finds a container that was started several times, and of which the kubelet knows no run, as the runtime does not have it
// when the kubelet asks.
func lostSight(c *Case) (out []Finding) {
	for _, k := range c.containers() {
		e := c.containerEvent("Started", k.Name)
		if k.State.Waiting == nil || k.State.Waiting.Reason == "CrashLoopBackOff" || e == nil || e.Count < startedInVain {
			continue
		}
		if last := k.LastTerminationState.Terminated; last != nil && last.Reason != "ContainerStatusUnknown" {
			continue
		}
		args := c.containerArgs(k, k.State.Waiting.Reason, "")
		args["count"] = strconv.Itoa(e.Count)
		out = append(out, c.found("start.lostSight", k.Name, args, Likely, e.First, c.waits(k), c.event(e)))
	}
	return out
}
