package simcri

import (
	"errors"

	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

var services = []grpc.ServiceDesc{runtimeapi.RuntimeService_ServiceDesc, runtimeapi.ImageService_ServiceDesc}

// failStart returns the fault of a container's start, in the words in which containerd reports runc's errors. It
// returns nil if there is none.
func (s *Server) failStart(c *container) error {
	b := c.behaviour
	if b.startError == "" || !s.strikes(c.sandbox.config.GetMetadata().GetUid(), c.meta.GetName(), "start", b.startTimes) {
		return nil
	}
	return errors.New("failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: " + b.startError)
}

// isCall reports whether the CRI has a call of that name.
func isCall(name string) bool {
	for _, service := range services {
		for _, m := range service.Methods {
			if m.MethodName == name {
				return true
			}
		}
	}
	return false
}
