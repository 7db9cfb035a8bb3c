package causes

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// imageChecks are the checks of table/image.yaml.
var imageChecks = []check{pullSecrets, presentButRefused, credentialPluginFails, credentialPluginHangs, noCredentials, pullGoesOn, pullFailed}

// pullReasons are the waiting reasons of a container whose image cannot be had.
var pullReasons = Strings{"ErrImagePull", "ImagePullBackOff"}

// foundByTable returns the findings of a cause by the table's matches.
func (c *Case) foundByTable(id string) (out []Finding) {
	cause := Named(id)
	for i := range cause.When {
		out = append(out, c.match(cause, &cause.When[i])...)
	}
	return out
}

// fits reports whether the table finds a cause of a stage by a container's own status.
func (c *Case) fits(stage, name string) bool {
	return slices.ContainsFunc(All(), func(cause *Cause) bool {
		return cause.stage == stage && slices.ContainsFunc(cause.When, func(m Match) bool {
			return (m.Waiting != nil || m.Terminated != nil) &&
				slices.ContainsFunc(c.match(cause, &m), func(f Finding) bool { return f.Subject == name })
		})
	})
}

// pullFailed finds containers whose image cannot be pulled for a reason that the table
// does not know.
func pullFailed(c *Case) (out []Finding) {
	for _, k := range c.containers() {
		w := k.State.Waiting
		if w == nil || !pullReasons.has(w.Reason) || w.Message == "" || c.fits("image", k.Name) {
			continue
		}
		f := c.found("image.failed", k.Name, c.containerArgs(k, w.Reason, w.Message), Certain, c.Since, c.waits(k))
		f.Next = c.nextTry(k)
		out = append(out, f)
	}
	return out
}

// waits makes an evidence of a waiting container.
func (c *Case) waits(k container) Evidence {
	text := k.State.Waiting.Reason
	if m := k.State.Waiting.Message; m != "" {
		text += ": " + m
	}
	return c.status(words.With(words.Text("container %s waiting", "容器 %s 等待中"), k.Name), words.Same(text), time.Time{})
}

// pullSecrets finds pull secrets that the kubelet cannot use, where a registry refuses.
func pullSecrets(c *Case) (out []Finding) {
	if c.Spec == nil {
		return nil
	}
	for _, refused := range c.foundByTable("image.unauthorized") {
		for _, r := range c.Spec.Spec.ImagePullSecrets {
			id, args, shown := c.pullSecret(r.Name)
			if id == "" {
				continue
			}
			args["secret"], args["image"], args["container"] = r.Name, refused.Args["image"], refused.Args["container"]
			f := c.found(id, refused.Subject, args, refused.Confidence, refused.Since, append([]Evidence{shown}, refused.Evidence...)...)
			f.Next = refused.Next
			out = append(out, f)
		}
	}
	return out
}

// pullSecret finds what is wrong with a pull secret. The id is empty if that is nothing, or is not known.
func (c *Case) pullSecret(name string) (id string, args Args, shown Evidence) {
	if slices.Contains(c.Cluster.Missing, "secrets/"+name) {
		return "image.pullSecretMissing", Args{}, c.object(words.Same("secrets/"+name), words.Text("not found", "没有找到"), c.Now)
	}
	for i := range c.Cluster.Events {
		e := &c.Cluster.Events[i]
		if e.Reason == "FailedToRetrieveImagePullSecret" && !c.hasSecret(name) && c.counts(e, &EventMatch{}) && expr(`\b`+name+`\b`).in(e.Message, Args{}) {
			return "image.pullSecretMissing", Args{}, c.event(e)
		}
	}
	for _, s := range c.Cluster.Secrets {
		if s.Name == name && s.Known && !usable(s) {
			return "image.pullSecretUseless", Args{"type": s.Type}, c.object(words.Same("secrets/"+name), words.Same("type "+s.Type), c.Now)
		}
	}
	return "", nil, Evidence{}
}

func (c *Case) hasSecret(name string) bool {
	return slices.ContainsFunc(c.Cluster.Secrets, func(s evidence.Keys) bool { return s.Name == name })
}

// usable reports whether the kubelet takes credentials from a Secret.
func usable(s evidence.Keys) bool {
	key := map[string]string{string(corev1.SecretTypeDockerConfigJson): corev1.DockerConfigJsonKey, string(corev1.SecretTypeDockercfg): corev1.DockerConfigKey}[s.Type]
	return key != "" && slices.Contains(s.Keys, key)
}

// presentButRefused finds images that the node has and the pod may not use: the kubelet wants
// to see each pod's credentials.
func presentButRefused(c *Case) (out []Finding) {
	if c.Runtime == nil {
		return nil
	}
	for _, id := range []string{"image.unauthorized", "image.neverPull"} {
		for _, f := range c.foundByTable(id) {
			image := f.Args["image"]
			k := c.specOf(f.Subject)
			if !c.Runtime.Images[image] || k == nil || k.ImagePullPolicy == corev1.PullAlways {
				continue
			}
			shown := Evidence{Source: evidence.CRI, Where: words.Same("ListImages"), Text: words.With(words.Text("%s is there", "%s 已存在"), image), At: c.Now}
			out = append(out, c.found("image.credentials", f.Subject, f.Args, Likely, f.Since, append([]Evidence{shown}, f.Evidence...)...))
		}
	}
	return out
}

// pullLong is how long a pull may go on before it is worth a word.
const pullLong = 90 * time.Second

// pullGoesOn finds pulls that have begun and not ended. It says which pull they are queued
// behind where that is seen, and otherwise what the reason can be.
func pullGoesOn(c *Case) (out []Finding) {
	if !c.in(beforeStart) {
		return nil
	}
	out = append(out, c.queuedInStory()...)
	for i := range c.Cluster.Events {
		e := &c.Cluster.Events[i]
		if e.Reason != "Pulling" || e.Kind != "Pod" || c.Now.Sub(e.Last) < pullLong || !c.counts(e, &EventMatch{Any: true, Fresh: time.Hour}) || c.endedBy(e, pullEnds) {
			continue
		}
		name := containerOfPath(e.FieldPath)
		if !c.startsYet(name) {
			continue
		}
		args := c.imageArgs(name)
		expr(`^Pulling image "(?P<image>[^"]+)"`).in(e.Message, args)
		if c.pullSeen(args["image"]) {
			continue // the call is known to the millisecond, the event to the second
		}
		out = append(out, c.found("image.pullOpen", name, args, Possible, e.Last, c.event(e)))
		out = append(out, c.pullGoroutine(name, args, e.Last)...)
	}
	return out
}

// pullSeen reports whether a probe sees the runtime pull an image for the pod. The event
// has the image's name as the pod has it, the call has it with its tag.
func (c *Case) pullSeen(image string) bool {
	return c.Story != nil && slices.ContainsFunc(c.Story.Open, func(k evidence.Call) bool {
		return isCallOf(&k, ofRole(probes.RolePull)) && (k.Fields["image"] == image || strings.HasPrefix(k.Fields["image"], image+":"))
	})
}

// pullEnds are the events after which a pull does not go on. BackOff is none of them:
// it comes of a turn that did not pull.
var pullEnds = Strings{"Pulled", "Failed", "Created", "Started"}

// startsYet reports whether a container waits and has not been started since. Without a name,
// it is the image of an image volume.
func (c *Case) startsYet(name string) bool {
	return name == "" || slices.ContainsFunc(c.containers(), func(k container) bool {
		return k.Name == name && k.State.Waiting != nil && (k.State.Waiting.Reason == "ContainerCreating" || k.State.Waiting.Reason == "PodInitializing" ||
			k.State.Waiting.Reason == "CrashLoopBackOff" || pullReasons.has(k.State.Waiting.Reason))
	})
}

// queueLong is how long a pull may be queued before it is worth a word.
const queueLong = 15 * time.Second

// queuedInStory finds a pull that waits for another pod's pull, as an agent sees.
func (c *Case) queuedInStory() (out []Finding) {
	if c.Story == nil || c.Story.Behind == "" {
		return nil
	}
	for i := range c.Story.Open {
		k := &c.Story.Open[i]
		if !isCallOf(k, ofRole(probes.RolePullWait)) || c.Now.Sub(k.Began) < queueLong {
			continue
		}
		args := c.callArgs(k)
		args["behind"] = c.Story.Behind
		out = append(out, c.found("image.pullQueued", c.containerOf(k), args, Certain, k.Began, c.call(k)))
	}
	return out
}

// The functions of a pull in the kubelet: the pod's worker waits in the first, and the
// others run in the puller's goroutines.
var (
	pullWaits  = expr(`images\.\(\*imageManager\)\.pullImage$`)
	pullSerial = expr(`images\.\(\*serialImagePuller\)\.processImagePullRequests`)
	pullCalls  = expr(`\.PullImage$`)
)

// pullGoroutine tells a queued pull from one that runs, by the kubelet's goroutines. The one
// puller pulls for the worker that has waited for the longest.
func (c *Case) pullGoroutine(name string, args Args, since time.Time) []Finding {
	mine, others, puller := c.pullers()
	if mine == nil || puller == nil {
		return nil
	}
	shown := Evidence{Source: evidence.Port, Where: words.With(words.Text("goroutine %s", "goroutine %s"), strconv.FormatInt(puller.ID, 10)), Text: words.With(words.Text("the puller is in %s, %s", "拉取协程在 %s，%s"), path.Base(puller.Frames[0]), puller.State)}
	var first *evidence.Goroutine
	for _, g := range others {
		if g.Waits >= mine.Waits && (first == nil || g.Waits > first.Waits) {
			first = g
		}
	}
	switch {
	case first == nil:
		return []Finding{c.found("image.pullRuns", name, args, Likely, since, shown)}
	case first.Waits == mine.Waits:
		return nil // the dump has whole minutes: it cannot be told who was first
	}
	all := Args{"behind": "pod " + cmp.Or(first.Pod, "?")}
	for k, v := range args {
		all[k] = v
	}
	return []Finding{c.found("image.pullQueued", name, all, Likely, since, shown)}
}

// pullers returns the pod's own goroutine that waits for a pull, those of other pods, and the
// one that pulls.
func (c *Case) pullers() (mine *evidence.Goroutine, others []*evidence.Goroutine, puller *evidence.Goroutine) {
	if c.Kubelet == nil {
		return nil, nil, nil
	}
	for i := range c.Kubelet.Goroutines {
		g := &c.Kubelet.Goroutines[i]
		switch {
		case has(g, pullWaits) && g.Pod != "" && g.Pod == c.args["uid"]:
			mine = g
		case has(g, pullWaits):
			others = append(others, g)
		case has(g, pullSerial) && has(g, pullCalls):
			puller = g
		}
	}
	return mine, others, puller
}

func has(g *evidence.Goroutine, e Expr) bool {
	return slices.ContainsFunc(g.Frames, func(f string) bool { return e.in(f, Args{}) })
}
