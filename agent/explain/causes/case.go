package causes

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// Case is a snapshot in which causes are looked for, with what follows from it.
type Case struct {
	*evidence.Snapshot
	// Spec is the pod's object: the API server's, or the kubelet's; nil: there is none.
	Spec *corev1.Pod
	// Now is when the snapshot was taken.
	Now   time.Time
	Phase Phase
	// Since is when the pod came into its phase.
	Since time.Time

	args Args // those that every finding has
}

func newCase(s *evidence.Snapshot) *Case {
	c := &Case{Snapshot: s, Spec: s.Best(), Now: s.Taken}
	c.Phase, c.Since = phaseOf(c.Spec, c.Now)
	if c.Spec == nil && s.Story != nil {
		c.Phase, c.Since = phaseOfStory(s.Story), s.Story.Since
	}
	if p := objectPhases[s.Name.Kind]; p != "" {
		c.ofObject(p)
		return c
	}
	c.args = Args{"pod": s.Name.Name, "namespace": s.Name.Namespace, "uid": s.Name.UID}
	if s.Story != nil {
		c.args["node"], c.args["lookedAt"] = s.Story.Node, s.Story.LookedAt
	}
	if c.Spec != nil {
		c.args["node"], c.args["uid"] = c.Spec.Spec.NodeName, string(c.Spec.UID)
	}
	c.args["claimUser"], c.args["deviceDriver"], c.args["portHolder"] = c.claimUser(), c.deviceDriver(), c.portHolder()
	c.args.setHolders(c.deviceHolders())
	c.forgetPast()
	return c
}

// Age is how long the pod has been in its phase.
func (c *Case) Age() time.Duration { return c.Now.Sub(c.Since) }

// in reports whether the pod is in one of some phases; none: in any.
func (c *Case) in(phases []Phase) bool {
	return len(phases) == 0 || slices.Contains(phases, c.Phase)
}

// container is one of the pod's containers, with its status.
type container struct {
	corev1.ContainerStatus
	kind string // app, init, ephemeral
}

// containers returns those of the pod, as the kubelet has reported them to the API server, or
// has them itself.
func (c *Case) containers() (out []container) {
	if c.Spec == nil {
		return nil
	}
	for _, all := range []struct {
		kind string
		list []corev1.ContainerStatus
	}{
		{"init", c.Spec.Status.InitContainerStatuses}, {"app", c.Spec.Status.ContainerStatuses}, {"ephemeral", c.Spec.Status.EphemeralContainerStatuses},
	} {
		for _, s := range all.list {
			out = append(out, container{s, all.kind})
		}
	}
	return out
}

// specOf returns the spec of a container of the pod; nil: it has none of that name.
func (c *Case) specOf(name string) *corev1.Container {
	if c.Spec == nil {
		return nil
	}
	for _, all := range [][]corev1.Container{c.Spec.Spec.InitContainers, c.Spec.Spec.Containers} {
		for i := range all {
			if all[i].Name == name {
				return &all[i]
			}
		}
	}
	return nil
}

// source returns the source of the pod's object.
func (c *Case) source() evidence.Source {
	switch {
	case c.Pod != nil:
		return evidence.API
	case c.KubeletPod != nil:
		return evidence.Port
	}
	return c.storySource()
}

// storySource returns the source of the pod's story.
func (c *Case) storySource() evidence.Source {
	if slices.ContainsFunc(c.Origins, func(o evidence.Origin) bool { return o.Source == evidence.Trace }) {
		return evidence.Trace
	}
	return evidence.Agent
}

// found makes a finding of the cause with an id. The table must have the id.
func (c *Case) found(id, subject string, args Args, sure Confidence, since time.Time, shown ...Evidence) Finding {
	all := Args{}
	for _, from := range []Args{c.args, args} {
		for k, v := range from {
			all[k] = v
		}
	}
	if all["csiDriver"] == "" && all["subject"] != "" {
		all["csiDriver"] = c.csiDriver(all["subject"], "")
	}
	if _, ok := all["took"]; !ok && !since.IsZero() {
		all["took"] = words.Took(c.Now.Sub(since))
	}
	return Finding{Cause: Named(id), Subject: subject, Args: all, Confidence: sure, Since: since, Evidence: shown}
}

// event makes an evidence of an event.
func (c *Case) event(e *evidence.Event) Evidence {
	return Evidence{Source: evidence.API, Where: words.With(words.Text("event %s of %s %s", "事件 %s（%s %s）"), e.Reason, e.Kind, e.Name), Text: words.Same(e.Message), At: cmp.Or(e.Last, e.First)}
}

// object makes an evidence of an object of the API server.
func (c *Case) object(where, text probes.Text, at time.Time) Evidence {
	return Evidence{Source: evidence.API, Where: where, Text: text, At: at}
}

// status makes an evidence of the pod's status.
func (c *Case) status(where, text probes.Text, at time.Time) Evidence {
	return Evidence{Source: c.source(), Where: where, Text: text, At: at}
}

// call makes an evidence of a call of the story.
func (c *Case) call(k *evidence.Call) Evidence {
	text := words.Same(k.Error)
	switch {
	case k.Error != "":
	case k.Ended.IsZero():
		text = words.With(words.Text("goes on for %s", "已进行 %s"), words.Took(c.Now.Sub(k.Began)))
	default:
		text = words.Text("went well", "成功")
	}
	return Evidence{Source: c.storySource(), Where: titleOf(k), Text: text, At: latest(k.Began, k.Ended), Seq: k.Seq, Step: k.Step}
}

// inStatus is where the pod's status is seen.
var inStatus = words.Text("status", "状态")

// ofContainer is where a container of the pod is seen.
func ofContainer(name string) probes.Text {
	return words.With(words.Text("container %s", "容器 %s"), name)
}

// titleOf returns the title of a call's step.
func titleOf(k *evidence.Call) probes.Text {
	if step := probes.MustLoad().Step(k.Step); step != nil {
		return step.Title
	}
	return words.Same(cmp.Or(k.Title, k.Step))
}

// ofPod reports whether an event is about the pod, and not about an earlier one of its name.
func (c *Case) ofPod(e *evidence.Event) bool {
	if e.Kind != "Pod" || e.Name != c.Name.Name {
		return false
	}
	return e.UID == "" || c.Spec == nil || e.UID == string(c.Spec.UID) || e.UID == c.Spec.Annotations[corev1.MirrorPodAnnotationKey]
}

// quotedImage finds the image in a message of the kubelet or a runtime.
var quotedImage = regexp.MustCompile(`(?i)\bimage "([^"]+)"`)

// imageNamed returns the image that a message is about: that of an image volume if it names one
// of the pod's, otherwise the container's own, or if that is not known, the one that the message names.
func (c *Case) imageNamed(message, own string) string {
	if c.Spec == nil {
		return own
	}
	for _, v := range c.Spec.Spec.Volumes {
		if v.Image != nil && v.Image.Reference != "" && strings.Contains(message, v.Image.Reference) && !strings.Contains(message, `"`+own+`"`) {
			return v.Image.Reference
		}
	}
	if m := quotedImage.FindStringSubmatch(message); own == "" && m != nil {
		return m[1]
	}
	return own
}

// containerAround returns the container that an open call, or the innermost open call of the worker around it, names. A
// call to the runtime has only a container's id.
func (c *Case) containerAround(k *evidence.Call) string {
	if c.Story == nil || !k.Ended.IsZero() || !isCallOf(k, ofRuntime) {
		return ""
	}
	for i := len(c.Story.Open) - 1; i >= 0; i-- {
		around := &c.Story.Open[i]
		if name := around.Fields["container"]; name != "" && !around.Began.After(k.Began) && !isCallOf(around, ofRole(probes.RoleProbe)) {
			return name
		}
	}
	return ""
}

// containerOf returns the container that a call is about: the one that it names or that a call around it names, or the
// only one that has its image.
func (c *Case) containerOf(k *evidence.Call) string {
	if name := c.containerAround(k); name != "" {
		return name
	}
	if name := k.Fields["container"]; name != "" || k.Fields["image"] == "" || c.Spec == nil {
		return name
	}
	name := ""
	for _, all := range [][]corev1.Container{c.Spec.Spec.InitContainers, c.Spec.Spec.Containers} {
		for i := range all {
			if strings.TrimSuffix(k.Fields["image"], ":latest") != strings.TrimSuffix(all[i].Image, ":latest") {
				continue
			}
			if name != "" {
				return ""
			}
			name = all[i].Name
		}
	}
	return name
}
