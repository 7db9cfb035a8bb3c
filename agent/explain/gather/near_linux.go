package gather

import (
	"context"
	"errors"
	"slices"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/agent/kubeport"
	"github.com/podstep/podstep/probes/kubelets"
)

// nearKubelet is a kubelet of this machine.
type nearKubelet = kubelets.Kubelet

// Nearby finds the kubelet of this machine that has a pod. The sources on a node share
// it.
type Nearby struct {
	// PID is the kubelet's that a person named; 0: the kubelet of the pod's node.
	PID int
	// Login says how to log in at the API server; nil: as the machine's files say.
	Login *rest.Config

	once sync.Once
	all  []kubelets.Kubelet
	err  error
}

// kubelet returns the kubelet that has the pod.
func (n *Nearby) kubelet(ctx context.Context, of *Subject) (*kubelets.Kubelet, error) {
	n.once.Do(func() { n.find(ctx) })
	if n.err != nil {
		return nil, n.err
	}
	node := of.nodeName()
	if node == "" && of.Snapshot.Pod != nil {
		return nil, errNoNode
	}
	fitting := slices.DeleteFunc(slices.Clone(n.all), func(k kubelets.Kubelet) bool {
		return node != "" && k.Node != node || n.PID == 0 && n.Login != nil && !kubeport.Trusts(&k, n.Login)
	})
	k, err := kubelets.Choose(fitting)
	switch {
	case errors.Is(err, kubelets.ErrNone) && node != "":
		return nil, &elsewhere{"the node is " + node + ", whose kubelet does not run on this machine"}
	case errors.Is(err, kubelets.ErrNone):
		return nil, &elsewhere{"no kubelet runs on this machine"}
	case err != nil:
		return nil, err
	}
	return &k, nil
}

func (n *Nearby) find(ctx context.Context) {
	if n.PID == 0 {
		n.all, n.err = kubelets.Find(ctx, kubelets.Options{})
		return
	}
	k, err := kubelets.ByPID(ctx, n.PID, kubelets.Options{})
	n.all, n.err = []kubelets.Kubelet{k}, err
}

// port returns the way to a kubelet's port.
func (n *Nearby) port(k *kubelets.Kubelet) (*kubeport.Port, error) {
	login := n.Login
	if login == nil {
		var err error
		if login, err = kubeport.CredentialsOf(k, ""); err != nil {
			login = nil
		}
	}
	return kubeport.Of(k, login)
}

// reach finds the kubelet that has the pod, and the ways to its port.
func (n *Nearby) reach(ctx context.Context, of *Subject) (k *nearKubelet, ways []way, err error) {
	if k, err = n.kubelet(ctx, of); err != nil {
		return nil, nil, err
	}
	if direct, err := n.port(k); err == nil {
		for _, u := range direct.URLs {
			ways = append(ways, directly(direct.Client, u))
		}
	}
	return k, ways, nil
}

// OnNode returns the sources on a pod's node: its kubelet's port, which can be reached through
// the API server, too, its runtime, the kubelet's pods API, the machine and the kubelet's log. The
// last three are left out if many pods are asked about.
func OnNode(api *kubeapi.Client, near *Nearby, many bool) []Source {
	out := []Source{&Kubelet{API: api, Near: near, Whole: many}, &Runtime{near}}
	if many {
		return out
	}
	return append(out, &PodsAPI{near}, &Machine{near}, &Log{near})
}
