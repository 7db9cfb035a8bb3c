package causes

import (
	"testing"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes/words"
)

// TestCulprit: the first culprit whose arguments are all known counts, and nobody is a culprit of itself.
func TestCulprit(t *testing.T) {
	pod, node := evidence.Name{Namespace: "shop", Name: "web"}, evidence.Name{Kind: evidence.KindNode, Name: "n1"}
	for _, c := range []struct {
		of    evidence.Name
		cause string
		args  Args
		want  string
	}{
		{pod, "volumes.multiAttach", Args{"namespace": "shop", "holderPod": "old", "holderNode": "n2"}, "pod shop/old"},
		{pod, "volumes.multiAttach", Args{"namespace": "shop", "holderNode": "n2"}, "node n2"},
		{pod, "volumes.multiAttach", Args{"namespace": "shop"}, ""},
		{pod, "image.pullQueued", Args{"behind": "shop/large"}, "pod shop/large"},
		{pod, "image.pullQueued", Args{"behind": "pod 9c1f-77"}, ""}, // of which only the UID is known
		{pod, "image.pullQueued", Args{"behind": "shop/web"}, ""},
		{pod, "node.plegUnhealthy", Args{"node": "n1"}, "node n1"},
		{node, "node.plegUnhealthy", Args{"node": "n1"}, ""},
		{pod, "start.crashes", Args{"namespace": "shop", "node": "n1"}, ""},
	} {
		r := &Report{Pod: c.of, Findings: []Finding{{Cause: Named(c.cause), Args: c.args}}}
		r.nameCulprits()
		got := ""
		if by := r.Findings[0].Culprit; by != nil {
			got = by.In(words.English)
		}
		if got != c.want {
			t.Errorf("%s of %s with %v: the culprit is %q, want %q", c.cause, c.of, c.args, got, c.want)
		}
	}
}

// TestCulpritNames: a name without an argument, or of an unknown kind, is refused when the table is read.
func TestCulpritNames(t *testing.T) {
	for _, bad := range []CulpritName{{"pod", "shop/web"}, {"person", "{pod}"}, {}} {
		if bad.check() == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}
