package gather

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/redact"
	"github.com/podstep/podstep/probes/words"
)

// The kubelet's marks on static pods and their mirrors.
var keptAnnotations = []string{"kubernetes.io/config.source", corev1.MirrorPodAnnotationKey, "kubernetes.io/config.hash", "kubernetes.io/config.seen"}

// maxMessage bounds a message of an object, in bytes.
const maxMessage = 4 << 10

// message takes out of a text what nobody is to see, and bounds it.
func message(text string) string {
	if len(text) > maxMessage {
		text = text[:maxMessage]
	}
	return words.Clean(redact.Text(text))
}

// shown is the message of an event. Those of health probes and hooks repeat what a
// container printed.
func shown(reason, text string) string {
	switch reason {
	case "Unhealthy", "ProbeWarning":
		if len(text) > maxMessage {
			text = text[:maxMessage]
		}
		text, _ = redact.Probe(text)
	case "FailedPostStartHook", "FailedPreStopHook":
		if i := strings.Index(text, "message:"); i >= 0 {
			text = text[:i] + "message: " + redact.Redacted
		}
	}
	return message(text)
}

// trimmed keeps of a pod what rules ask for. Values of environment variables,
// commands, annotations and what containers printed may hold secrets.
func trimmed(p *corev1.Pod) *corev1.Pod {
	out := p.DeepCopy()
	out.ManagedFields, out.Annotations = nil, nil
	for _, k := range keptAnnotations {
		if v, ok := p.Annotations[k]; ok {
			if out.Annotations == nil {
				out.Annotations = map[string]string{}
			}
			out.Annotations[k] = v
		}
	}
	for _, all := range [][]corev1.Container{out.Spec.InitContainers, out.Spec.Containers} {
		for i := range all {
			trimContainer(&all[i])
		}
	}
	for i := range out.Spec.EphemeralContainers {
		c := corev1.Container(out.Spec.EphemeralContainers[i].EphemeralContainerCommon)
		trimContainer(&c)
		out.Spec.EphemeralContainers[i].EphemeralContainerCommon = corev1.EphemeralContainerCommon(c)
	}
	for _, all := range [][]corev1.ContainerStatus{out.Status.InitContainerStatuses, out.Status.ContainerStatuses, out.Status.EphemeralContainerStatuses} {
		for i := range all {
			all[i].Image, all[i].ImageID = redact.Text(all[i].Image), redact.Text(all[i].ImageID)
			trimState(&all[i].State)
			trimState(&all[i].LastTerminationState)
		}
	}
	for i := range out.Status.Conditions {
		out.Status.Conditions[i].Message = message(out.Status.Conditions[i].Message)
	}
	out.Status.Message = message(out.Status.Message)
	return out
}

func trimContainer(c *corev1.Container) {
	for i := range c.Env {
		c.Env[i].Value = ""
	}
	c.Image = redact.Text(c.Image)
	c.Command, c.Args = programOf(c.Command), nil
	for _, p := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if p != nil {
			trimHandler(p.Exec, p.HTTPGet)
		}
	}
	if l := c.Lifecycle; l != nil {
		for _, h := range []*corev1.LifecycleHandler{l.PostStart, l.PreStop} {
			if h != nil {
				trimHandler(h.Exec, h.HTTPGet)
			}
		}
	}
}

// isRedacted reports whether something was taken out of a text.
func isRedacted(text string) bool { return strings.Contains(text, redact.Redacted) }

// programOf keeps of a command its program.
func programOf(command []string) []string {
	return command[:min(1, len(command))]
}

func trimHandler(e *corev1.ExecAction, h *corev1.HTTPGetAction) {
	if e != nil {
		e.Command = programOf(e.Command)
	}
	if h != nil {
		h.HTTPHeaders, h.Path = nil, ""
	}
}

func trimState(s *corev1.ContainerState) {
	if s.Waiting != nil {
		s.Waiting.Message = message(s.Waiting.Message)
		s.Waiting.Reason = words.Cut(words.OneLine(redact.Text(s.Waiting.Reason)), 300)
	}
	if t := s.Terminated; t != nil {
		// StartError and ContainerCannotRun have the runtime's message; all others what
		// the container wrote.
		if t.Reason != "StartError" && t.Reason != "ContainerCannotRun" {
			t.Message = ""
		}
		t.Message = message(t.Message)
	}
}

// trimmedNode keeps of a node what rules ask for.
func trimmedNode(n *corev1.Node) *corev1.Node {
	out := n.DeepCopy()
	out.ManagedFields, out.Annotations, out.Status.Images = nil, nil, nil
	return out
}
