package main

import (
	"testing"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// TestNoPod: an error about a pod that nobody knows names each witness that did not answer.
func TestNoPod(t *testing.T) {
	none := evidence.Unseen{Source: evidence.API, What: "API server", Why: evidence.Absent, Message: "no kubeconfig is known"}
	late := evidence.Unseen{Source: evidence.Agent, What: "events of the pod", Why: evidence.Late}
	for want, unseen := range map[string][]evidence.Unseen{
		"there is no pod shop/web": {late},
		"nothing is known of pod shop/web: API server: absent: no kubeconfig is known":                                      {none, {Source: evidence.Agent, What: "events of the pod", Why: evidence.Absent}},
		"nothing is known of pod shop/web: API server: absent: no kubeconfig is known; the agent's events of the pod: late": {late, none},
	} {
		if got := noPod(evidence.Name{Namespace: "shop", Name: "web"}, &evidence.Snapshot{Unseen: unseen}).Error(); got != want {
			t.Errorf("the error is %q, want %q", got, want)
		}
	}
}
