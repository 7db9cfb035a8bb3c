package columns

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// Restart is what has changed for a pod since its kubelet was started.
type Restart struct {
	Started time.Time
	Taken   time.Time
	// Changes are the changes since then, the oldest first.
	Changes []Change
}

// Change is something that is otherwise than it was in the life of the kubelet before.
type Change struct {
	Container string // empty: it is about the pod
	What      probes.Text
	Text      probes.Text
	At        time.Time
}

// Name names what has changed.
func (c *Change) Name(l words.Lang) string {
	return (&Row{Container: c.Container, What: c.What}).Name(l)
}

// In returns a change in words, with how long ago it came.
func (r *Restart) In(c *Change, l words.Lang) string {
	return (&Cell{Text: c.Text, Since: c.At}).In(l, r.Taken)
}

// Heading stands above the changes.
func (r *Restart) Heading(l words.Lang) string {
	return l.Inf(words.Text("Changed since the kubelet was started %s ago:", "kubelet %s 前启动，此后的变化："), words.Took(r.Taken.Sub(r.Started)))
}

// maxChanges bounds the changes that are kept: the newest.
const maxChanges = 20

// restartCounts is how long a start of the kubelet is worth a word.
const restartCounts = time.Hour

// AfterRestart returns what has changed for a pod since its kubelet was started; nil: nothing, the pod is younger, the kubelet was
// started long ago, or nobody says when. The kubelet's metrics say when it was.
func AfterRestart(s *evidence.Snapshot) *Restart {
	if s.Name.Kind != "" || s.Pod == nil || s.Kubelet == nil || s.Kubelet.Metrics["process_start_time_seconds"] == 0 {
		return nil
	}
	started := time.UnixMilli(int64(s.Kubelet.Metrics["process_start_time_seconds"] * 1000)).UTC()
	l := &layout{s: s}
	if s.Taken.Sub(started) > restartCounts || !l.cameTo(API).Before(started) {
		return nil
	}
	r := &Restart{Started: started, Taken: s.Taken}
	r.sandbox(s.Runtime)
	r.status(&s.Pod.Status)
	r.events(s)
	if len(r.Changes) == 0 {
		return nil
	}
	slices.SortStableFunc(r.Changes, func(a, b Change) int { return a.At.Compare(b.At) })
	r.Changes = r.Changes[max(0, len(r.Changes)-maxChanges):]
	return r
}

// add adds a change, if it came in this life. The API server keeps times in whole seconds.
func (r *Restart) add(container string, what, text probes.Text, at time.Time) {
	if !at.Before(r.Started.Truncate(time.Second)) {
		r.Changes = append(r.Changes, Change{container, what, text, at})
	}
}

func (r *Restart) sandbox(has *evidence.Runtime) {
	if has != nil && len(has.Sandboxes) > 0 {
		r.add("", words.Text("sandbox", "沙箱"), words.With(words.Text("another one, attempt %d", "换了一个，第 %d 次"), int(has.Sandboxes[0].Attempt)), has.Sandboxes[0].Created)
	}
}

func (r *Restart) status(st *corev1.PodStatus) {
	for i := range st.Conditions {
		c := &st.Conditions[i]
		text := words.Same(string(c.Status))
		if c.Reason != "" {
			text = words.Same(string(c.Status) + " (" + words.OneLine(c.Reason) + ")")
		}
		r.add("", words.Same(string(c.Type)), text, c.LastTransitionTime.Time)
	}
	for _, all := range [][]corev1.ContainerStatus{st.InitContainerStatuses, st.ContainerStatuses} {
		for i := range all {
			is := stateCell(&all[i])
			if last := all[i].LastTerminationState.Terminated; last != nil && all[i].State.Running != nil {
				is.Text = words.With(words.Text("%s, after it %s", "%s，此前%s"), is.Text, endedText(last.ExitCode, last.Reason))
			}
			r.add(all[i].Name, words.Text("state", "状态"), is.Text, is.Since)
		}
	}
	if at := changedAt(st); st.Phase == corev1.PodFailed && st.Reason != "" {
		r.add("", words.Text("phase", "阶段"), words.Same("Failed ("+words.OneLine(st.Reason)+")"), at)
	}
}

// events adds the kubelet's warnings, and what it killed.
func (r *Restart) events(s *evidence.Snapshot) {
	for i := range s.Cluster.Events {
		e := &s.Cluster.Events[i]
		if e.Type == corev1.EventTypeNormal && e.Reason != "Killing" && e.Reason != "SandboxChanged" {
			continue
		}
		if e.Component == "kubelet" && e.UID == string(s.Pod.UID) && !e.First.Before(r.Started) {
			text := words.Same(words.OneLine(e.Reason))
			if e.Count > 1 {
				text = words.Same(words.OneLine(e.Reason) + " x" + strconv.Itoa(e.Count))
			}
			r.add("", words.Text("event", "事件"), text, e.First)
		}
	}
}
