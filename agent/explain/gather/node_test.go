package gather

import (
	"net/http"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/kubeapi/apitest"
	"github.com/podstep/podstep/agent/story/life"
)

const (
	nodePath   = "api/v1/nodes/n1"
	readyNode  = `{"metadata":{"name":"n1"},"status":{"conditions":[{"type":"Ready","status":"True","reason":"KubeletReady","lastTransitionTime":"2026-11-26T12:00:00Z"}]}}`
	stuckPod   = `{"metadata":{"namespace":"shop","name":"web","uid":"u1"},"spec":{"nodeName":"n1","containers":[{"name":"app"}]},"status":{"phase":"Pending"}}`
	runningPod = `{"metadata":{"namespace":"shop","name":"db","uid":"u2"},"spec":{"nodeName":"n1","containers":[{"name":"app"}]},"status":{"phase":"Running"}}`
)

// nodeObjects are a node and two pods on it.
func nodeObjects() apitest.Objects {
	return apitest.Objects{
		nodePath: readyNode, "api/v1/pods": `{"items":[` + stuckPod + `,` + runningPod + `]}`, "api/v1/namespaces/default/events": `{"items":[]}`,
		"api/v1/namespaces/shop/events": `{"items":[]}`, nodePath + "/proxy/healthz/syncloop": "ok", nodePath + "/proxy/healthz": "ok",
	}
}

func pending(s *evidence.Snapshot) bool { return s.Pod.Status.Phase == "Pending" }

// TestNode: the answer about a node has the node itself, with what its kubelet serves, and those of its pods that were chosen.
func TestNode(t *testing.T) {
	api := apitest.Start(t, nodeObjects())
	m, err := From{API: api.Client(t), More: []Source{&Kubelet{API: api.Client(t), Whole: true}}}.Node(t.Context(), "n1", pending)
	if err != nil {
		t.Fatal(err)
	}
	if m.Looked != 2 || len(m.Pods) != 1 || m.Pods[0].Name.Name != "web" {
		t.Errorf("looked at %d, chosen: %+v", m.Looked, m.Pods)
	}
	if k := m.Node.Kubelet; k == nil || k.SyncLoop != "ok" {
		t.Errorf("the kubelet: %+v", k)
	}
	if r := causes.Explain(m.Node); r.State != life.Idle || len(r.Findings) > 0 || r.Pod.String() != "node/n1" || !strings.Contains(r.Summary("en"), "n1 reports that the node is ready") {
		t.Errorf("%s is %s: %s", r.Pod, r.Word(), r.Summary("en"))
	}
}

// TestNodeUnreadable: podstep says what it could not read, and does not take it for missing.
func TestNodeUnreadable(t *testing.T) {
	for name, c := range map[string]struct {
		change func(apitest.Objects)
		refuse string // the path that is forbidden
		want   string // of the error; empty: there is none
	}{
		"no such node": {func(o apitest.Objects) { delete(o, nodePath) }, "", "there is no node n1"},
		"forbidden":    {func(apitest.Objects) {}, nodePath, "read node n1: forbidden"},
		"no object":    {func(o apitest.Objects) { o[nodePath] = `[]` }, "", "read node n1: "},
		"pods":         {func(apitest.Objects) {}, "api/v1/pods", ""},
	} {
		objects := nodeObjects()
		c.change(objects)
		api := apitest.Start(t, objects)
		if c.refuse != "" {
			api.Refuse("/"+c.refuse, http.StatusForbidden)
		}
		m, err := From{API: api.Client(t)}.Node(t.Context(), "n1", pending)
		switch {
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v", name, err)
		case c.want == "" && (err != nil || len(m.Unseen) != 1 || m.Unseen[0].What != "pods of node n1" || m.Unseen[0].Why != evidence.Forbidden):
			t.Errorf("%s: %v, %+v", name, err, m)
		}
	}
}
