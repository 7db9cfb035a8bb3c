package simcri

import (
	"context"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// criVersion is the version that the kubelet asks for. The others are ours.
const (
	criVersion     = "0.1.0"
	runtimeName    = "simcri"
	runtimeVersion = "1.0.0"
)

// Version names the runtime.
func (s *Server) Version(context.Context, *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{Version: criVersion, RuntimeName: runtimeName, RuntimeVersion: runtimeVersion, RuntimeApiVersion: "v1"}, nil
}

// Status reports whether runtime and network are ready. The kubelet calls it every few seconds. A scenario that has
// changed is read then.
func (s *Server) Status(_ context.Context, r *runtimeapi.StatusRequest) (*runtimeapi.StatusResponse, error) {
	if err := s.readScenario(); err != nil {
		s.opts.Log.Error("the scenario stays as it was", "error", err)
	}
	node := s.scenario.Load().Node
	answer := &runtimeapi.StatusResponse{
		Status: &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{
			condition(runtimeapi.RuntimeReady, trueUnlessSet(node.RuntimeReady), "ContainerdNotReady", "the scenario says that the runtime is not ready"),
			condition(runtimeapi.NetworkReady, trueUnlessSet(node.NetworkReady), "NetworkPluginNotReady", "Network plugin returns error: cni plugin not initialized"),
		}},
		RuntimeHandlers: []*runtimeapi.RuntimeHandler{
			{Name: "", Features: &runtimeapi.RuntimeHandlerFeatures{}},
			{Name: "runc", Features: &runtimeapi.RuntimeHandlerFeatures{}},
		},
		Features: &runtimeapi.RuntimeFeatures{SupplementalGroupsPolicy: true},
	}
	if r.GetVerbose() {
		answer.Info = info(map[string]any{"podNetwork": s.addresses.network.String(), "pulls": s.Pulls()})
	}
	return answer, nil
}

func condition(kind string, ok bool, reason, message string) *runtimeapi.RuntimeCondition {
	if ok {
		return &runtimeapi.RuntimeCondition{Type: kind, Status: true}
	}
	return &runtimeapi.RuntimeCondition{Type: kind, Reason: reason, Message: message}
}

// RuntimeConfig returns the cgroup driver that the kubelet is to use.
func (s *Server) RuntimeConfig(context.Context, *runtimeapi.RuntimeConfigRequest) (*runtimeapi.RuntimeConfigResponse, error) {
	return &runtimeapi.RuntimeConfigResponse{Linux: &runtimeapi.LinuxRuntimeConfiguration{CgroupDriver: runtimeapi.CgroupDriver_CGROUPFS}}, nil
}

// UpdateRuntimeConfig gets the pods' network. It ignores it: the kubelet does not choose the network here.
func (s *Server) UpdateRuntimeConfig(context.Context, *runtimeapi.UpdateRuntimeConfigRequest) (*runtimeapi.UpdateRuntimeConfigResponse, error) {
	return &runtimeapi.UpdateRuntimeConfigResponse{}, nil
}
