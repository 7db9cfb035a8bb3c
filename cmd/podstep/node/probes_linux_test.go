package node

import (
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/attach"
	"github.com/podstep/podstep/probes/kubelets"
)

// TestChooseProbes: all that are registered, in their order, or those that are
// named.
func TestChooseProbes(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  int
	}{{nil, len(registered)}, {[]string{"api", "cri"}, 2}} {
		kinds, err := chooseProbes(c.names)
		if err != nil || len(kinds) != c.want || kinds[0].Name != "cri" {
			t.Errorf("%v: %v, %v", c.names, kinds, err)
		}
	}
	if _, err := chooseProbes([]string{"oracle"}); err == nil {
		t.Error("a probe that is not there is taken")
	}
}

// TestWithoutSocket: who attaches to a kubelet without a socket hears what its endpoint
// is, and which probes there are for it.
func TestWithoutSocket(t *testing.T) {
	k := kubelets.Kubelet{NoEndpoint: `its endpoint "unix:@x" is an abstract socket, which has no path to take over`}
	got := withoutSocket(&k, registered)
	if !strings.Contains(got, `"unix:@x" is an abstract socket`) || !strings.Contains(got, "--probe api,kubelet ") {
		t.Errorf("it is said %q", got)
	}
	if got := withoutSocket(&k, []attach.Kind{attach.API}); got != "" {
		t.Errorf("without the cri probe it is said %q", got)
	}
	if got := withoutSocket(&kubelets.Kubelet{RuntimeEndpoint: "/run/x.sock"}, registered); got != "" {
		t.Errorf("with a socket it is said %q", got)
	}
}
