package nodelog

import (
	"context"
	"errors"

	"github.com/podstep/podstep/probes/kubelets"
)

// OfRuntime finds the log of a kubelet's runtime: of the process that serves the runtime's socket. While a podstep has
// the path of the socket, the runtime's own socket is aside.
func OfRuntime(ctx context.Context, k *kubelets.Kubelet) (*Log, error) {
	err := errors.New("the kubelet's settings name no socket of a runtime")
	for _, socket := range []string{k.Aside(), k.RuntimeEndpoint} {
		if socket == "" {
			continue
		}
		var pid int
		if pid, err = k.Server(ctx, socket); err == nil && pid > 1 {
			return Of(ctx, pid)
		}
	}
	if err == nil {
		err = errors.New("the process that serves its socket is out of sight")
	}
	return nil, err
}
