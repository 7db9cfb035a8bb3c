package columns

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// layout makes a table of a snapshot.
type layout struct {
	Table
	s *evidence.Snapshot
}

// answered reports whether a source has answered something.
func (l *layout) answered(source evidence.Source) bool {
	return slices.ContainsFunc(l.s.Origins, func(o evidence.Origin) bool { return o.Source == source })
}

// row adds a row, unless no place has anything to say.
func (l *layout) row(container string, what probes.Text, cells [places]Cell) {
	for p, c := range cells {
		if c.Text != (probes.Text{}) && l.Seen[p] {
			l.Rows = append(l.Rows, Row{Container: container, What: what, Cells: cells})
			return
		}
	}
}

// status returns the pod's status as a place has it; nil: that is not known. Of a static pod, /pods has the kubelet's own status.
func (l *layout) status(p Place) *corev1.PodStatus {
	switch pod := l.s.KubeletPod; {
	case p == API && l.s.Pod != nil:
		return &l.s.Pod.Status
	case p == Kubelet && l.s.Kubelet != nil && l.s.Kubelet.Status != nil:
		return l.s.Kubelet.Status
	case p == Kubelet && pod != nil && isStatic(pod):
		return &pod.Status
	}
	return nil
}

// statusRow adds a row of what the pod's status says in the first two places.
func (l *layout) statusRow(container string, what probes.Text, cells [places]Cell) {
	cells[Kubelet].Unknown = l.StatusUnknown && !cells[Kubelet].Compared()
	l.row(container, what, cells)
}

// object returns the pod as a place has it; nil: it has none, or that is not known.
func (l *layout) object(p Place) *corev1.Pod {
	switch p {
	case API:
		return l.s.Pod
	case Kubelet:
		return l.s.KubeletPod
	}
	return nil
}

// isStatic reports whether a pod is not from the API server, as the kubelet has it or as its mirror.
func isStatic(p *corev1.Pod) bool {
	source := p.Annotations[probes.AnnotationSource]
	return source != "" && source != "api" || p.Annotations[corev1.MirrorPodAnnotationKey] != ""
}

// running reports whether the pod should have all that it needs: some place says that it runs, and nobody wants it to end.
func (l *layout) running() bool {
	pod := l.s.Best()
	return pod != nil && pod.Status.Phase == corev1.PodRunning && pod.DeletionTimestamp == nil
}

// specs returns the containers of the pod, as the API server, or else the kubelet, has them.
func (l *layout) specs() (out []corev1.Container) {
	pod := l.s.Best()
	if pod == nil {
		return nil
	}
	out = slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
	for i := range pod.Spec.EphemeralContainers {
		out = append(out, corev1.Container(pod.Spec.EphemeralContainers[i].EphemeralContainerCommon))
	}
	return out
}

// specIn returns a container of a pod; nil: the pod does not have it.
func specIn(p *corev1.Pod, name string) *corev1.Container {
	if p == nil {
		return nil
	}
	for _, all := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		if i := slices.IndexFunc(all, func(c corev1.Container) bool { return c.Name == name }); i >= 0 {
			return &all[i]
		}
	}
	return nil
}

// statusIn returns the status of a container; nil: there is none yet.
func statusIn(st *corev1.PodStatus, name string) *corev1.ContainerStatus {
	if st == nil {
		return nil
	}
	for _, all := range [][]corev1.ContainerStatus{st.InitContainerStatuses, st.ContainerStatuses, st.EphemeralContainerStatuses} {
		if i := slices.IndexFunc(all, func(c corev1.ContainerStatus) bool { return c.Name == name }); i >= 0 {
			return &all[i]
		}
	}
	return nil
}

// cellOf returns a cell with a text and one value to compare.
func cellOf(text probes.Text, since time.Time, name, value string) Cell {
	return Cell{Text: text, Since: since, values: map[string]string{name: value}}
}

// maxList bounds a list of names, in characters.
const maxList = 60

func list(names []string) probes.Text {
	return words.Same(words.Cut(strings.Join(names, ", "), maxList))
}

var (
	yes  = words.Text("yes", "有")
	no   = words.Text("no", "没有")
	none = words.Text("none", "无")
)
