package causes

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes/words"
)

// startChecks are the checks of table/start.yaml.
var startChecks = []check{missingConfig, startFailed, startGoesOn, devicePluginHangs, crashes, startsFail, notRestarted, notStarted, lostSight}

// beforeStart are the phases in which a pod still has a container to be started.
var beforeStart = []Phase{Creating, Init, Starting, Unready}

// The kubelet's words for an object of the environment that it cannot find.
var (
	objectMissing = expr(`(?P<kind>configmap|secret)s? "(?P<name>[^"]+)" not found`)
	keyMissing    = expr(`couldn't find key (?P<key>\S+) in (?P<kind>ConfigMap|Secret) [^/\s]+/(?P<name>[^\s"\\]+)`)
)

// wanted is an object of which a container wants all, or a key.
type wanted struct{ kind, name, key string }

// want returns the object that is missing, as a text says; ok is false if the text is about
// something else.
func want(text string) (w wanted, ok bool) {
	args := Args{}
	if !objectMissing.in(text, args) && !keyMissing.in(text, args) {
		return w, false
	}
	return wanted{map[string]string{"configmap": "configmap", "ConfigMap": "configmap", "secret": "secret", "Secret": "secret"}[args["kind"]], args["name"], args["key"]}, true
}

// missingConfig finds ConfigMaps, Secrets and their keys that are not there and that a
// container takes its environment from.
func missingConfig(c *Case) (out []Finding) {
	if !c.in(beforeStart) {
		return nil
	}
	for _, k := range c.containers() {
		if w := k.State.Waiting; w != nil && w.Reason == "CreateContainerConfigError" {
			out = append(out, c.missing(w.Message, k.Name, Certain, c.Since, c.waits(k))...)
		}
	}
	for i := range c.Cluster.Events {
		e := &c.Cluster.Events[i]
		if e.Reason == "Failed" && e.Kind == "Pod" && c.counts(e, &EventMatch{}) && !c.endedBy(e, Strings{"Created", "Started"}) {
			out = append(out, c.missing(e.Message, containerOfPath(e.FieldPath), Likely, e.First, c.event(e))...)
		}
	}
	if c.Story != nil {
		for i := range c.Story.Failed {
			k := &c.Story.Failed[i]
			out = append(out, c.missing(k.Error, k.Fields["container"], Certain, k.Began, c.call(k))...)
		}
	}
	return out
}

// missing makes the finding of an object that is missing, as a text says, unless the object is
// there by now.
func (c *Case) missing(text, name string, sure Confidence, since time.Time, shown Evidence) []Finding {
	w, ok := want(text)
	if !ok || name == "" {
		return nil
	}
	ids := map[string][2]string{"configmap": {"start.configMapMissing", "start.configMapKeyMissing"}, "secret": {"start.secretMissing", "start.secretKeyMissing"}}
	id, all, resource, arg := ids[w.kind][0], c.Cluster.ConfigMaps, "configmaps/", "configMap"
	if w.kind == "secret" {
		all, resource, arg = c.Cluster.Secrets, "secrets/", "secret"
	}
	at := slices.IndexFunc(all, func(k evidence.Keys) bool { return k.Name == w.name })
	evidences := []Evidence{shown}
	switch {
	case w.key == "" && at >= 0:
		return nil
	case w.key != "" && at >= 0 && all[at].Known && slices.Contains(all[at].Keys, w.key):
		return nil
	case slices.Contains(c.Cluster.Missing, resource+w.name):
		evidences = append(evidences, c.object(words.Same(resource+w.name), words.Text("not found", "没有找到"), c.Now))
	case w.key != "" && at >= 0 && all[at].Known:
		evidences = append(evidences, c.object(words.Same(resource+w.name), words.With(words.Text("has no key %s", "没有键 %s"), w.key), c.Now))
	}
	if w.key != "" {
		id = ids[w.kind][1]
	}
	f := c.found(id, name, Args{"container": name, arg: w.name, "key": w.key}, sure, since, evidences...)
	if c.Story != nil {
		f.Next = c.Story.Next
	}
	return []Finding{f}
}

// generic are the causes of waiting reasons for which the table has nothing better.
var generic = map[string]string{
	"CreateContainerConfigError": "start.configFailed", "CreateContainerError": "start.createFailed", "RunContainerError": "start.runFailed",
}

// passing matches errors that a start may have and that go away by themselves.
var passing = expr(`not registered|failed to sync \S+ cache|services have not yet been read`)

// waitingReasons are the kubelet's own reasons. Any other reason is the text of an error.
var waitingReasons = Strings{
	"", "ContainerCreating", "PodInitializing", "CrashLoopBackOff", "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError",
	"RegistryUnavailable", "SignatureValidationFailed", "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "RunInitContainerError",
	"PreCreateHookError", "PreStartHookError", "PostStartHookError", "RestartingAllContainers",
}

// startFailed finds containers that cannot be started for a reason that the table does
// not know.
func startFailed(c *Case) (out []Finding) {
	if c.Phase == Terminating {
		return nil
	}
	for _, k := range c.containers() {
		id, message := c.genericOf(k)
		if id == "" || c.fits("start", k.Name) || c.fits("image", k.Name) || c.lacks(message) {
			continue
		}
		f := c.found(id, k.Name, c.containerArgs(k, "", message), Certain, c.Since, c.waits(k))
		f.Args["reason"], f.Next = k.State.Waiting.Reason, c.nextTry(k)
		out = append(out, f)
	}
	return out
}

// genericOf returns the id of the cause for a waiting container about which nothing more is
// known, and the message that reports it. The id is empty if there is none.
func (c *Case) genericOf(k container) (id, message string) {
	w := k.State.Waiting
	switch {
	case w == nil || c.Age() < 30*time.Second && passing.in(w.Message, Args{}):
		return "", ""
	case generic[w.Reason] != "":
		return generic[w.Reason], w.Message
	case !waitingReasons.has(w.Reason):
		return "start.otherReason", w.Message
	case w.Reason == "CrashLoopBackOff" && neverRan(k.LastTerminationState.Terminated):
		return "start.runFailed", k.LastTerminationState.Terminated.Message
	}
	return "", ""
}

// lacks reports whether a text is about an object that missingConfig looks for and that is
// still missing.
func (c *Case) lacks(text string) bool {
	return len(c.missing(text, "-", Certain, c.Now, Evidence{})) > 0
}

// neverRan reports whether a container ended before its program ran.
func neverRan(t *corev1.ContainerStateTerminated) bool {
	return t != nil && (t.Reason == "StartError" || t.Reason == "ContainerCannotRun")
}

// notRestarted finds containers that failed and that the pod does not start again,
// while others run.
func notRestarted(c *Case) (out []Finding) {
	if c.Spec == nil || c.Phase != Starting || c.Spec.Spec.RestartPolicy != corev1.RestartPolicyNever {
		return nil
	}
	for _, k := range c.containers() {
		t, spec := k.State.Terminated, c.specOf(k.Name)
		if t == nil || t.ExitCode == 0 || k.kind != "app" || spec == nil || spec.RestartPolicy != nil || neverRan(t) {
			continue
		}
		out = append(out, c.found("start.notRestarted", k.Name, c.endArgs(k, t), Certain, t.FinishedAt.Time, c.ended(k, t)))
	}
	return out
}

// The kubelet's back-off of a container that ends again and again.
const (
	crashBase = 10 * time.Second
	crashMax  = 5 * time.Minute
)

// nextTry returns when the kubelet next tries to start a container that waits: as the agent has
// seen it, or worked out from the number of restarts. It is zero if that is not known.
func (c *Case) nextTry(k container) time.Time {
	if c.Story != nil {
		for _, r := range c.Story.Containers {
			if r.Name == k.Name && r.Until.After(c.Now) {
				return r.Until
			}
		}
	}
	t, w := k.LastTerminationState.Terminated, k.State.Waiting
	switch {
	case w != nil && w.Reason == "CrashLoopBackOff" && t != nil && !t.FinishedAt.IsZero():
		return t.FinishedAt.Add(c.backOff(k))
	case c.Story != nil && w != nil && w.Reason != "CrashLoopBackOff" && w.Reason != "ImagePullBackOff" && c.Story.Next.After(c.Now):
		return c.Story.Next
	}
	return time.Time{}
}

// backOff returns how long the kubelet waits before it starts a container again: as it says, or
// worked out from the number of restarts.
func (c *Case) backOff(k container) time.Duration {
	if w := k.State.Waiting; w != nil {
		args := Args{}
		if writtenBackOff.in(w.Message, args) {
			if d, err := time.ParseDuration(args["backOff"]); err == nil {
				return d
			}
		}
	}
	longest := crashMax
	if c.Kubelet != nil && c.Kubelet.Config != nil && c.Kubelet.Config.MaxContainerRestart > 0 {
		longest = c.Kubelet.Config.MaxContainerRestart
	}
	d := crashBase
	for i := int32(1); i < k.RestartCount && d < longest; i++ {
		d *= 2
	}
	return min(d, longest)
}

// writtenBackOff matches the kubelet's message about a container in back-off.
var writtenBackOff = expr(`^back-off (?P<backOff>\S+) restarting failed container`)
