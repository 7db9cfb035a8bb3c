package causes

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/probes/words"
)

// Edit is a change that somebody has made to something on which the pod depends.
type Edit struct {
	Object string    `json:"object"` // such as deployment/web
	By     string    `json:"by"`     // the field manager, by which the program named itself, such as kubectl-edit
	At     time.Time `json:"at"`
}

// In returns an edit in words: by whom, and how long before a time.
func (e *Edit) In(l words.Lang, now time.Time) string {
	return l.Inf(words.Text("by %s, %s ago", "由 %s，%s 前"), words.OneLine(e.By), words.Took(max(0, now.Sub(e.At))))
}

// EditsHeading stands above edits.
var EditsHeading = words.Text("Changed before:", "此前的修改：")

const (
	// An edit of the hour before the pod came into its state may have to do with it.
	editCounts = time.Hour
	// maxEdits bounds the edits that are kept: the newest.
	maxEdits = 5
	// What comes with an object's creation is no edit of it.
	creationTakes = 2 * time.Second
)

// byRule are the programs that change objects by rule: what made them do so is what counts.
var byRule = []string{"kubelet", "kube-scheduler", "kube-controller-manager", "cloud-controller-manager", "kube-apiserver"}

// editsBefore returns what was changed before, and while, the pod has been in its state, the newest first.
func (c *Case) editsBefore(since time.Time) (out []Edit) {
	add := func(object, by string, at time.Time) {
		if by != "" && !slices.Contains(byRule, by) && at.After(since.Add(-editCounts)) {
			out = append(out, Edit{object, by, at})
		}
	}
	fields := func(object string, all []metav1.ManagedFieldsEntry, made time.Time) {
		for i := range all {
			if f := &all[i]; f.Time != nil && f.Time.Sub(made) > creationTakes {
				add(strings.TrimSuffix(object+" "+f.Subresource, " "), f.Manager, f.Time.Time)
			}
		}
	}
	for i := range c.Cluster.Owners {
		o := &c.Cluster.Owners[i]
		add(strings.ToLower(o.Kind)+"/"+o.Name, o.ChangedBy, o.Changed)
	}
	if p := c.Pod; p != nil {
		fields("pod/"+p.Name, p.ManagedFields, p.CreationTimestamp.Time)
	}
	if n := c.Cluster.Node; n != nil {
		fields("node/"+n.Name, n.ManagedFields, n.CreationTimestamp.Time)
	}
	slices.SortStableFunc(out, func(a, b Edit) int { return b.At.Compare(a.At) })
	return out[:min(len(out), maxEdits)]
}

// addEdits adds what was changed to a report that finds something.
func (r *Report) addEdits(c *Case) {
	if r.Pod.Kind == "" && len(r.Findings) > 0 {
		r.Edits = c.editsBefore(r.Since)
	}
}
