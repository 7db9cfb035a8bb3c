package gather

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/explain/causes"
	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/kubeapi/apitest"
	"github.com/podstep/podstep/agent/story/life"
)

const (
	nodePath   = "api/v1/nodes/n1"
	readyNode  = `{"metadata":{"name":"n1"},"status":{"conditions":[{"type":"Ready","status":"True","reason":"KubeletReady","lastTransitionTime":"2026-11-20T12:00:00Z"}]}}`
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
	m, err := From{API: api.Client(t), More: []Source{&Kubelet{API: api.Client(t), Whole: true}}}.Object(t.Context(), "node", evidence.Name{Namespace: "default", Name: "n1"}, pending)
	if err != nil {
		t.Fatal(err)
	}
	if m.Looked != 2 || len(m.Pods) != 1 || m.Pods[0].Name.Name != "web" {
		t.Errorf("looked at %d, chosen: %+v", m.Looked, m.Pods)
	}
	if k := m.Object.Kubelet; k == nil || k.SyncLoop != "ok" {
		t.Errorf("the kubelet: %+v", k)
	}
	if r := causes.Explain(m.Object); r.State != life.Idle || len(r.Findings) > 0 || r.Pod.String() != "node/n1" || !strings.Contains(r.Summary("en"), "n1 reports that the node is ready") {
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
		"no such node": {func(o apitest.Objects) { delete(o, nodePath) }, "", "there is no node/n1"},
		"forbidden":    {func(apitest.Objects) {}, nodePath, "read node/n1: forbidden"},
		"no object":    {func(o apitest.Objects) { o[nodePath] = `[]` }, "", "read node/n1: "},
		"pods":         {func(apitest.Objects) {}, "api/v1/pods", ""},
	} {
		objects := nodeObjects()
		c.change(objects)
		api := apitest.Start(t, objects)
		if c.refuse != "" {
			api.Refuse("/"+c.refuse, http.StatusForbidden)
		}
		m, err := From{API: api.Client(t)}.Object(t.Context(), "node", evidence.Name{Namespace: "default", Name: "n1"}, pending)
		switch {
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v", name, err)
		case c.want == "" && (err != nil || !slices.ContainsFunc(m.Object.Unseen, func(u evidence.Unseen) bool { return u.What == "pods of node/n1" && u.Why == evidence.Forbidden })):
			t.Errorf("%s: %v, %+v", name, err, m)
		}
	}
}

// TestObjects: of each kind, what belongs to the object is read, and its pods are those that have to do with it.
func TestObjects(t *testing.T) {
	const uses = `{"metadata":{"namespace":"shop","name":"web","uid":"u1"},"spec":{"containers":[{"name":"app","ports":[{"name":"http","containerPort":80}]}],"volumes":[{"name":"d","persistentVolumeClaim":{"claimName":"data"}}]},"status":{"phase":"Pending"}}`
	api := apitest.Start(t, apitest.Objects{
		"api/v1/namespaces/shop":                                  `{"metadata":{"name":"shop","deletionTimestamp":"2026-11-20T12:00:00Z"},"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Terminating","conditions":[{"type":"NamespaceContentRemaining","status":"True","message":"pods. has 1 resource instances"}]}}`,
		"api/v1/namespaces/shop/pods":                             `{"items":[` + uses + `,` + runningPod + `]}`,
		"api/v1/namespaces/shop/events":                           `{"items":[]}`,
		"api/v1/namespaces/shop/persistentvolumeclaims/data":      `{"metadata":{"name":"data","uid":"c1","finalizers":["kubernetes.io/pvc-protection"],"deletionTimestamp":"2026-11-20T12:00:00Z"},"spec":{},"status":{"phase":"Bound"}}`,
		"api/v1/namespaces/shop/services/web":                     `{"metadata":{"name":"web"},"spec":{"selector":{"app":"web"},"ports":[{"port":80,"targetPort":"http"}]}}`,
		"apis/discovery.k8s.io/v1/namespaces/shop/endpointslices": `{"items":[{"endpoints":[{"conditions":{"ready":false}}]}]}`,
	})
	for _, c := range []struct {
		kind, name, written, cause string
		looked                     int
	}{
		{"ns", "shop", "namespace/shop", "namespace.contentRemains", 2},
		{"pvc", "data", "pvc/data -n shop", "claim.inUse", 1},
		{"svc", "web", "service/web -n shop", "service.noneReady", 2},
	} {
		m, err := From{API: api.Client(t)}.Object(t.Context(), c.kind, evidence.Name{Namespace: "shop", Name: c.name}, pending)
		if err != nil {
			t.Errorf("%s: %v", c.kind, err)
			continue
		}
		r := causes.Explain(m.Object)
		if first := r.First(); r.Pod.String() != c.written || r.State != life.Stuck || first == nil || first.Cause.ID != c.cause || m.Looked != c.looked || len(m.Pods) != 1 {
			t.Errorf("%s: %s is %s: %s; %d pods, %d chosen", c.kind, r.Pod, r.Word(), r.Summary("en"), m.Looked, len(m.Pods))
		}
		if _, err := (From{API: api.Client(t)}).Object(t.Context(), c.kind, evidence.Name{Namespace: "shop", Name: "none"}, pending); err == nil || !strings.Contains(err.Error(), "there is no "+c.written[:strings.IndexByte(c.written, '/')]) {
			t.Errorf("%s: of none: %v", c.kind, err)
		}
	}
}
