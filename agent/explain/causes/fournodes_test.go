package causes

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// oneNode matches how a scheduler refuses the one node of a cluster.
var oneNode = regexp.MustCompile(`^0/1 nodes are available: 1 ([^.]*(?:\.[^ .][^.]*)*)\.`)

// onFourNodes returns a snapshot as it would be if three nodes refused the pod for the same reason, and a fourth one had a
// taint that has nothing to do with the pod; nil: it is no snapshot of a pod that one node refuses.
func onFourNodes(s *evidence.Snapshot) *evidence.Snapshot {
	if s.Pod == nil || len(s.Cluster.Candidates) != 1 || s.Cluster.Placed != nil { // TestNodewise has pods of known nodes
		return nil
	}
	changed := false
	message := func(text string) string {
		m := oneNode.FindStringSubmatchIndex(text)
		if m == nil {
			return text
		}
		changed = true
		reasons := []string{"1 node(s) had untolerated taint(s)", "3 " + text[m[2]:m[3]]}
		slices.Sort(reasons)
		rest := strings.NewReplacer("0/1 nodes", "0/4 nodes", ": 1 ", ": 4 ").Replace(text[m[1]:])
		return "0/4 nodes are available: " + strings.Join(reasons, ", ") + "." + rest
	}
	out := *s
	out.Pod = s.Pod.DeepCopy()
	for i := range out.Pod.Status.Conditions {
		out.Pod.Status.Conditions[i].Message = message(out.Pod.Status.Conditions[i].Message)
	}
	out.Cluster.Events = slices.Clone(s.Cluster.Events)
	for i := range out.Cluster.Events {
		out.Cluster.Events[i].Message = message(out.Cluster.Events[i].Message)
	}
	one := s.Cluster.Candidates[0]
	out.Cluster.Candidates = nil
	for n := range 4 {
		c := one
		c.Name = fmt.Sprintf("node-%d", n+1)
		if n == 3 {
			c.Taints = append(slices.Clone(c.Taints), corev1.Taint{Key: "dedicated", Value: "database", Effect: corev1.TaintEffectNoSchedule})
		}
		out.Cluster.Candidates = append(out.Cluster.Candidates, c)
	}
	if !changed {
		return nil
	}
	return &out
}

// TestFourNodes: a taint of another node is not the reason why a pod has no node.
func TestFourNodes(t *testing.T) {
	n := 0
	for file, s := range recorded(t) {
		four := onFourNodes(s)
		before := Explain(s)
		if four == nil || len(before.Findings) == 0 {
			continue
		}
		n++
		after := Explain(four)
		if want := before.Findings[0].Cause.ID; len(after.Findings) == 0 || after.Findings[0].Cause.ID != want {
			t.Errorf("%s: %s is %v on four nodes", file, want, ids(after))
		}
	}
	if n < 10 {
		t.Errorf("only %d snapshots are of a pod that one node refuses", n)
	}
}
