package gather

import (
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/kubeapi/apitest"
)

// TestOwnerKinds: the counts of an owner have other names in each kind, and status.active is a number in a Job and a list in
// a CronJob.
func TestOwnerKinds(t *testing.T) {
	const none = `{"items":[]}`
	for _, c := range []struct {
		kind, path, object  string
		wanted, made, ended int32
		behind              bool
	}{
		{"deployment", "apis/apps/v1/namespaces/shop/deployments/web", `{"metadata":{"uid":"u","generation":3},"spec":{"replicas":4,"selector":{}},"status":{"replicas":2,"observedGeneration":2}}`, 4, 2, 0, true},
		{"daemonset", "apis/apps/v1/namespaces/shop/daemonsets/web", `{"metadata":{"uid":"u","generation":3},"spec":{"selector":{}},"status":{"desiredNumberScheduled":2,"currentNumberScheduled":1,"observedGeneration":3}}`, 2, 1, 0, false},
		{"job", "apis/batch/v1/namespaces/shop/jobs/web", `{"metadata":{"uid":"u"},"spec":{"completions":5,"selector":{}},"status":{"active":1,"succeeded":3,"failed":2}}`, 5, 1, 3, false},
		{"cronjob", "apis/batch/v1/namespaces/shop/cronjobs/web", `{"metadata":{"uid":"u"},"status":{"active":[{"kind":"Job","name":"web-1"}]}}`, -1, -1, 0, false},
	} {
		api := apitest.Start(t, apitest.Objects{c.path: c.object, "api/v1/namespaces/shop/pods": none, "api/v1/namespaces/shop/events": none})
		m, err := From{API: api.Client(t)}.Owner(t.Context(), c.kind, evidence.Name{Namespace: "shop", Name: "web"})
		if err != nil || len(m.Owners) != 1 {
			t.Errorf("%s: %+v, %v", c.kind, m, err)
			continue
		}
		if o := m.Owners[0].Cluster.Owners[0]; o.Wanted != c.wanted || o.Made != c.made || o.Ended != c.ended || o.Behind() != c.behind {
			t.Errorf("%s: %+v", c.kind, o)
		}
	}
}

// TestOwnerUnreadable: an object that podstep cannot read is not said to be missing.
func TestOwnerUnreadable(t *testing.T) {
	api := apitest.Start(t, apitest.Objects{"apis/apps/v1/namespaces/shop/deployments/web": `{"metadata":{"uid":"u"},"spec":{"replicas":"four"}}`})
	_, err := From{API: api.Client(t)}.Owner(t.Context(), "deployment", evidence.Name{Namespace: "shop", Name: "web"})
	if err == nil || !strings.Contains(err.Error(), "cannot be read") {
		t.Errorf("%v", err)
	}
}
