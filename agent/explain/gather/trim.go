package gather

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/redact"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// The kubelet's marks on static pods and their mirrors.
var keptAnnotations = []string{probes.AnnotationSource, corev1.MirrorPodAnnotationKey, probes.AnnotationHash, probes.AnnotationSeen}

// message redacts a text, which also bounds its length.
func message(text string) string { return words.Clean(redact.Text(text)) }

// shown returns the message of an event. The messages of health probes and hooks repeat what a
// container printed.
func shown(reason, text string) string {
	switch reason {
	case "Unhealthy", "ProbeWarning":
		text, _ = redact.Probe(text)
	case "FailedPostStartHook", "FailedPreStopHook":
		if i := strings.Index(text, "message:"); i >= 0 {
			text = text[:i] + "message: " + redact.Redacted
		}
	}
	return message(text)
}

// trimmed returns the part of a pod that is shown, and that rules ask for.
func trimmed(p *corev1.Pod) *corev1.Pod {
	out := shownPart(p)
	out.ManagedFields, out.Annotations = edits(p.ManagedFields), nil
	for _, k := range keptAnnotations {
		if v, ok := p.Annotations[k]; ok {
			if out.Annotations == nil {
				out.Annotations = map[string]string{}
			}
			out.Annotations[k] = redact.Text(v)
		}
	}
	trimStates(out.Status.InitContainerStatuses, p.Status.InitContainerStatuses)
	trimStates(out.Status.ContainerStatuses, p.Status.ContainerStatuses)
	trimStates(out.Status.EphemeralContainerStatuses, p.Status.EphemeralContainerStatuses)
	for i := range out.Status.Conditions {
		out.Status.Conditions[i].Message = message(p.Status.Conditions[i].Message)
	}
	out.Status.Message = message(p.Status.Message)
	return out
}

// edits returns the entries that say who changed the object, and when, without what was changed. Reports of its status are left out.
func edits(all []metav1.ManagedFieldsEntry) (out []metav1.ManagedFieldsEntry) {
	for i := range all {
		if f := &all[i]; f.Subresource != "status" {
			out = append(out, metav1.ManagedFieldsEntry{Manager: message(f.Manager), Operation: f.Operation, APIVersion: f.APIVersion, Time: f.Time, Subresource: f.Subresource})
		}
	}
	return out
}

func trimStates(out, from []corev1.ContainerStatus) {
	for i := range out {
		trimState(&out[i].State, &from[i].State)
		trimState(&out[i].LastTerminationState, &from[i].LastTerminationState)
	}
}

// isRedacted reports whether something was taken out of a text.
func isRedacted(text string) bool { return strings.Contains(text, redact.Redacted) }

func trimState(out, from *corev1.ContainerState) {
	if w := out.Waiting; w != nil {
		w.Message = message(from.Waiting.Message)
		w.Reason = words.Cut(words.OneLine(redact.Text(from.Waiting.Reason)), 300)
	}
	// The message of StartError and ContainerCannotRun is the runtime's. That of all others is what the container wrote.
	if t := out.Terminated; t != nil {
		t.Message = ""
		if t.Reason == "StartError" || t.Reason == "ContainerCannotRun" {
			t.Message = message(from.Terminated.Message)
		}
	}
}

// trimmedNode returns the part of a node that rules ask for.
func trimmedNode(n *corev1.Node) *corev1.Node {
	out := n.DeepCopy()
	out.ManagedFields, out.Annotations, out.Status.Images = edits(n.ManagedFields), nil, nil
	return out
}
