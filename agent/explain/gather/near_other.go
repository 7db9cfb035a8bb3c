//go:build !linux

package gather

import (
	"context"

	"k8s.io/client-go/rest"

	"github.com/podstep/podstep/agent/kubeapi"
)

// Nearby finds no kubelet: this system runs none.
type Nearby struct {
	PID   int
	Login *rest.Config
}

// nearKubelet stands for a kubelet of this machine. This system runs none.
type nearKubelet struct{ PID int }

// Same reports whether it is still the process that was found.
func (*nearKubelet) Same() bool { return false }

func (*Nearby) reach(context.Context, *Subject) (*nearKubelet, []way, error) {
	return nil, nil, &elsewhere{"no kubelet runs on this system"}
}

// OnNode returns the kubelet's port, which can be reached through the API server. The other
// sources are only on the node.
func OnNode(api *kubeapi.Client, _ *Nearby, many bool) []Source {
	return []Source{&Kubelet{API: api, Whole: many}}
}
