package causes

import (
	"slices"
	"testing"

	"github.com/podstep/podstep/agent/explain/evidence"
)

func TestMissingRights(t *testing.T) {
	forbidden := func(message string) evidence.Unseen {
		return evidence.Unseen{Source: evidence.API, Why: evidence.Forbidden, Message: message}
	}
	got := MissingRights([]evidence.Unseen{
		forbidden(`events is forbidden: User "ann" cannot list resource "events" in API group "" in the namespace "shop"`),
		forbidden(`events is forbidden: User "ann" cannot list resource "events" in API group "" in the namespace "shop"`),
		forbidden(`nodes "node-1" is forbidden: User "ann" cannot get resource "nodes/proxy" in API group "" at the cluster scope`),
		forbidden(`widgets is forbidden: User "ann" cannot list resource "widgets" in API group "example.com"`),
		forbidden("open /proc/7/fd: permission denied"),
		{Source: evidence.API, Why: evidence.Late, Message: `cannot list resource "pods" in API group ""`},
	})
	var rights []string
	for _, r := range got {
		rights = append(rights, r.Right)
	}
	if want := []string{"list events -n shop", "get nodes/proxy"}; !slices.Equal(rights, want) {
		t.Errorf("%q, want %q", rights, want)
	}
}
