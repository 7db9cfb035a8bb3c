package explore

import (
	"path"
	"slices"
	"strings"

	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/lab/faults"
	"github.com/podstep/podstep/probes/words"
)

// Verdict is the judgement on an answer of `why`.
type Verdict string

// The verdicts.
const (
	Unbroken    Verdict = "unbroken"    // the call did not come again: nothing was broken
	Fine        Verdict = "fine"        // the pod got where it has to
	Alarm       Verdict = "alarm"       // it got there, and a cause that keeps it from there is called certain
	Right       Verdict = "right"       // the first finding names the broken call or what stands for it
	Partly      Verdict = "partly"      // a later finding does, or the first is only possible
	Wrong       Verdict = "wrong"       // the first finding names something else
	Unexplained Verdict = "unexplained" // no finding is more than possible
)

// Answer is the first finding of a report.
type Answer struct {
	ID         string            `json:"id"`
	Confidence causes.Confidence `json:"confidence,omitempty"`
	Text       string            `json:"text,omitempty"`
}

func answerOf(r *causes.Report) Answer {
	if len(r.Findings) == 0 {
		return Answer{Text: r.Summary(words.English)}
	}
	f := &r.Findings[0]
	return Answer{f.Cause.ID, f.Confidence, f.Sentence(words.English)}
}

// judge judges a report on a pod for which a call was broken. certainWrong reports whether it calls something else
// certain.
func judge(f Fault, r *causes.Report, marker string, stuck bool) (v Verdict, certainWrong bool) {
	names := func(x causes.Finding) bool { return names(&x, f, marker) }
	if !stuck {
		alarm := slices.ContainsFunc(r.Findings, func(x causes.Finding) bool {
			return x.Confidence == causes.Certain && !x.Cause.Fine && !names(x)
		})
		if alarm && r.Wrong() {
			return Alarm, true
		}
		return Fine, false
	}
	i := slices.IndexFunc(r.Findings, names)
	first := r.First()
	switch {
	case i == 0 && first != nil, first == nil && r.Whereabouts != nil && names(*r.Whereabouts):
		return Right, false // where the pod is, is what comes first if no cause is more than possible
	case i >= 0:
		return Partly, first != nil && first.Confidence == causes.Certain
	case first == nil || first.Cause.ID == "unexplained":
		return Unexplained, false
	}
	return Wrong, first.Confidence == causes.Certain
}

// names reports whether a finding names the broken call: by the text of its error, by the call itself, or by a cause
// that stands for it.
func names(x *causes.Finding, f Fault, marker string) bool {
	if slices.ContainsFunc(standsFor(f), func(glob string) bool {
		ok, _ := path.Match(glob, x.Cause.ID)
		return ok
	}) {
		return true
	}
	texts := []string{x.Sentence(words.English)}
	for _, e := range x.Evidence {
		if f.Op.Side == faults.CRI && e.Step == "cri."+f.Op.Method {
			return true
		}
		texts = append(texts, e.Text.En, e.Where.En)
	}
	return slices.ContainsFunc(marks(f, marker), func(mark string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, mark) })
	})
}

// marks are texts that only the broken call can have brought about: the name of the call, the marker in the errors of
// the fault, and what is invented in a wrong answer.
func marks(f Fault, marker string) []string {
	out := []string{marker}
	switch f.Op.Side {
	case faults.File:
		out = append(out, fileErrors[f.Action]...)
	case faults.API:
		// The kubelet gives the address of a request that brings no answer of the API server.
		if _, resource, _ := strings.Cut(f.Op.Method, " "); f.Op.Object != "" {
			out = append(out, "/"+resource+"/"+f.Op.Object)
		}
	default:
		out = append(out, f.Op.Method)
	}
	if f.Action == faults.Wrong {
		out = append(out, faults.Invented...)
	}
	if f.Op.Method == "ListPodSandbox" || f.Op.Method == "PodSandboxStatus" {
		out = append(out, "failed to reserve sandbox name") // of a sandbox that the kubelet does not see
	}
	if _, resource, _ := strings.Cut(f.Op.Method, " "); resource == "configmaps" || resource == "secrets" {
		out = append(out, "failed to sync "+strings.TrimSuffix(resource, "s")+" cache") // so the kubelet calls a watch that brings nothing
	}
	return out
}

// fileErrors are the texts of errors of file operations.
var fileErrors = map[faults.Action][]string{
	faults.IOError: {"input/output error"}, faults.NoSpace: {"no space left on device"},
	faults.ReadOnly: {"read-only file system"}, faults.NoAccess: {"permission denied"},
}

// stand is one line of the table of causes that stand for a broken call.
type stand struct {
	call    string // a glob, as Call is written
	actions string // those for which it holds, separated by spaces; empty: all
	causes  []string
}

// stands are the causes that name a broken call in other words than its name or its error. A cause that only says that
// the pod is not where it should be is not among them.
var stands = []stand{
	{"cri RunPodSandbox", "hang", []string{"sandbox.hangs"}},
	{"cri RunPodSandbox", "lost DeadlineExceeded", []string{"sandbox.nameReserved"}},
	{"cri List*", "hang", []string{"terminating.lookHangs"}},
	{"cri ListPodSandbox", "", []string{"source.statusError", "source.lookFails", "source.waitsForStatus"}},
	{"cri ListPodSandbox", "hang", []string{"source.lookHangs"}}, // of PLEG's look at one pod
	{"cri ListPodSandbox", "wrong", []string{"start.stopped"}},   // the pod seems to have no sandbox, and is made anew
	{"cri ListContainers", "", []string{"source.statusError", "source.lookFails", "source.waitsForStatus"}},
	{"cri ListContainers", "hang", []string{"source.lookHangs"}},
	{"cri PodSandboxStatus", "", []string{"source.statusError", "source.lookFails", "source.waitsForStatus", "sandbox.statusFailed"}},
	{"cri PodSandboxStatus", "hang", []string{"terminating.plegWait"}},
	{"cri PodSandboxStatus", "wrong", []string{"sandbox.flaps"}}, // a sandbox that is said to be dead is made anew
	{"cri ContainerStatus *", "", []string{"source.statusError", "source.lookFails", "source.waitsForStatus"}},
	{"cri ContainerStatus *", "hang", []string{"terminating.plegWait"}},
	{"cri ContainerStatus *", "NotFound", []string{"start.nameReserved", "start.lostSight"}},             // the kubelet makes anew what it has lost sight of
	{"cri ContainerStatus *", "wrong", []string{"terminating.criViolation", "ready.runtimeContradicts"}}, // a container is said to run that has stopped
	{"cri PullImage *", "hang late", []string{"image.pullRuns", "image.pullOpen", "terminating.behindPull"}},
	{"cri PullImage *", "NotFound", []string{"image.notFound"}},
	{"cri PullImage *", "empty wrong", []string{"image.failed"}},
	{"cri ImageStatus *", "", []string{"image.inspect"}},
	{"cri CreateContainer *", "hang", []string{"start.createHangs"}},
	{"cri CreateContainer *", "lost", []string{"start.nameReserved"}},
	{"cri StartContainer *", "hang", []string{"start.startHangs", "terminating.behindStart"}},
	{"cri StartContainer *", "empty", []string{"start.notStarted"}},
	{"cri UpdateContainerResources *", "empty", []string{"ready.resizeWithoutEffect"}},
	{"cri StopPodSandbox", "", []string{"terminating.sandboxStop"}},
	{"cri StopContainer *", "", []string{"terminating.stopFails", "terminating.killFails"}},
	{"cri ExecSync *", "hang", []string{"start.postStartHangs", "terminating.preStop", "terminating.behindHook", "ready.probeTimeout"}},
	{"cri ExecSync *", "", []string{"start.postStartFailed", "ready.probeErrored", "ready.probeExec", "ready.livenessRestarts"}},
	{"api * configmaps *", "", []string{"volumes.configMapMissing", "volumes.cacheTimeout", "start.objectNotRead"}},
	{"api * secrets *", "", []string{"start.secretMissing", "volumes.cacheTimeout", "start.objectNotRead"}},
	{"api create serviceaccounts/token", "", []string{"volumes.token", "ready.behindVolumes"}},
	{"api create serviceaccounts/token", "hang", []string{"volumes.operationHangs", "terminating.behindMount"}}, // the mount of the token's volume
	{"api * pods/status", "", []string{"ready.statusLate", "terminating.statusRefused"}},
	{"api get pods", "", []string{"ready.statusLate", "terminating.statusUnread", "terminating.statusRefused"}},
	{"api get persistentvolumeclaims *", "", []string{"volumes.claimUnread"}},
	{"api get persistentvolumes", "", []string{"volumes.claimUnread"}},
	{"api get persistentvolumeclaims *", "404", []string{"volumes.claimMissing", "volumes.volumeMissing"}},
	{"api get persistentvolumes", "404", []string{"volumes.claimMissing", "volumes.volumeMissing"}},
	{"api get persistentvolumeclaims *", "hang", []string{"volumes.claimUnanswered"}},
	{"api get persistentvolumes", "hang", []string{"volumes.claimUnanswered"}},
	{"api get resourceclaims *", "", []string{"sandbox.claimUnread"}},
	{"api get resourceclaims *", "hang late", []string{"sandbox.devicesHang"}},
	{"api delete pods", "", []string{"terminating.deleteRefused", "terminating.deleteUnanswered"}},
	{"plugin Allocate", "hang late", []string{"node.deviceAllocation"}},
	{"plugin Allocate", "empty", []string{"admission.devices"}},
	{"plugin PreStartContainer", "hang late", []string{"start.devicePluginHangs"}},
	{"plugin GetPreferredAllocation", "hang late", []string{"node.deviceAllocation"}},
	{"plugin ListAndWatch", "", []string{"admission.devices", "scheduling.notOffered"}},           // there are no devices
	{"plugin GetDevicePluginOptions", "", []string{"admission.devices", "scheduling.notOffered"}}, // nor if the plugin cannot register
	{"exec GetCredentials *", "hang late", []string{"image.credentialPluginHangs"}},
	{"exec GetCredentials *", "", []string{"image.unauthorized", "image.credentialPluginFails"}}, // the kubelet pulls without; its log alone has the plugin's error
	{"plugin NodePrepareResources", "hang late", []string{"sandbox.devicesHang"}},
	{"plugin NodeUnprepareResources", "hang late", []string{"terminating.draHangs"}},
	{"plugin NodeStageVolume", "hang late", []string{"volumes.driverSilent"}},
	{"plugin NodeStageVolume", "empty", []string{"volumes.driverRefuses"}}, // the driver publishes no volume that it has not staged
	{"plugin NodePublishVolume", "hang late", []string{"volumes.driverSilent"}},
	{"plugin NodeUnpublishVolume", "hang late", []string{"terminating.unmountHangs"}},
	{"file *", "hang", []string{"volumes.operationHangs", "terminating.unmountHangs", "terminating.behindMount", "terminating.volumesLeft", "terminating.lookHangs", "source.lookHangs", "general.fileHangs"}}, // which file it is, nobody knows
	{"file open *", "EIO EACCES", []string{"terminating.volumesLeft"}}, // the kubelet cannot see that they are gone
	{"plugin NodeUnstageVolume", "hang late", []string{"volumes.leaving"}},
	{"plugin NodeGetCapabilities", "empty wrong", []string{"volumes.driverRefuses"}}, // nor one that it was not asked to stage
	{"plugin NodeGetCapabilities", "hang late", []string{"volumes.driverSilent", "volumes.leaving", "terminating.unmountHangs"}},
}

// standsFor returns globs of the causes that stand for a fault.
func standsFor(f Fault) (out []string) {
	for _, s := range stands {
		if ok, _ := path.Match(strings.ReplaceAll(s.call, "/", "|"), strings.ReplaceAll(f.Op.Call.String(), "/", "|")); !ok {
			continue
		}
		if s.actions == "" || slices.Contains(strings.Fields(s.actions), string(f.Action)) {
			out = append(out, s.causes...)
		}
	}
	return out
}
