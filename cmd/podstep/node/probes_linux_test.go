package node

import (
	"errors"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/attach"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/cri"
	"github.com/podstep/podstep/probes/kubelets"
)

// TestChooseProbes: without names, all registered probes are chosen, in their order, and
// otherwise the named ones.
func TestChooseProbes(t *testing.T) {
	for _, c := range []struct {
		names   []string
		passive bool
		first   string
		want    int
	}{
		{nil, false, "cri", len(registered) - 2}, // except those that must be named
		{[]string{"cri", "delve"}, false, "cri", 2},
		{withDelve(nil, "here:1"), false, "cri", len(registered) - 2},
		{withDelve([]string{"cri"}, "here:1"), false, "cri", 2},
		{[]string{"api", "cri"}, false, "cri", 2},
		{nil, true, registered[1].Name, len(registered) - 3},
		{[]string{"log", "api"}, false, "log", 2},
		{[]string{"kubelet"}, true, "kubelet", 1},
	} {
		kinds, leftOut, err := chooseProbes(c.names, c.passive)
		if err != nil || len(kinds) != c.want || kinds[0].Name != c.first || (len(leftOut) > 0) == (c.first == "cri") {
			t.Errorf("%v: %v, without %v, %v", c.names, kinds, leftOut, err)
		}
	}
	if _, _, err := chooseProbes([]string{"oracle"}, false); err == nil {
		t.Error("a probe that is not there is taken")
	}
	var usage *UsageError
	if _, _, err := chooseProbes([]string{"api", "cri"}, true); !errors.As(err, &usage) || !strings.Contains(err.Error(), "--passive and --probe cri") {
		t.Errorf("a probe that stands in the path, and --passive: %v", err)
	}
}

// TestWithAllCalls: the cri probe is replaced by another one, and must be among the chosen.
func TestWithAllCalls(t *testing.T) {
	kinds, err := withAllCalls([]attach.Kind{attach.CRI, attach.API})
	c := probes.MustLoad()
	if err != nil || len(kinds) != 2 || kinds[0].Name != "cri" || !sees(kinds[0].Abilities(c, nil), cri.Other) || sees(attach.CRI.Abilities(c, nil), cri.Other) {
		t.Errorf("the probes are %v, %v", kinds, err)
	}
	var usage *UsageError
	if _, err := withAllCalls([]attach.Kind{attach.API}); !errors.As(err, &usage) {
		t.Errorf("without the cri probe: %v", err)
	}
}

func sees(can probes.Abilities, step string) bool {
	x := can.At(step)
	return x.Sees()
}

// TestWithoutSocket: a person who attaches to a kubelet without a socket is told what its
// endpoint is, and which probes can see it.
func TestWithoutSocket(t *testing.T) {
	k := kubelets.Kubelet{NoEndpoint: `its endpoint "unix:@x" is an abstract socket, which has no path to take over`}
	got := withoutSocket(&k, registered)
	if !strings.Contains(got, `"unix:@x" is an abstract socket`) || !strings.Contains(got, "--probe uprobe,api,kubelet ") {
		t.Errorf("it is said %q", got)
	}
	if got := withoutSocket(&k, []attach.Kind{attach.API}); got != "" {
		t.Errorf("without the cri probe it is said %q", got)
	}
	if got := withoutSocket(&kubelets.Kubelet{RuntimeEndpoint: "/run/x.sock"}, registered); got != "" {
		t.Errorf("with a socket it is said %q", got)
	}
}
