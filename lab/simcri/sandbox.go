package simcri

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// RunPodSandbox makes a sandbox that is ready. If it fails, it leaves nothing.
func (s *Server) RunPodSandbox(ctx context.Context, r *runtimeapi.RunPodSandboxRequest) (*runtimeapi.RunPodSandboxResponse, error) {
	config := r.GetConfig()
	if config.GetMetadata().GetName() == "" {
		return nil, status.Error(codes.InvalidArgument, "sandbox config must include metadata with a name")
	}
	if sc := config.GetLinux().GetSecurityContext(); sc.GetRunAsGroup() != nil && sc.GetRunAsUser() == nil {
		return nil, status.Errorf(codes.InvalidArgument, "user group %d is specified without user", sc.GetRunAsGroup().GetValue())
	}
	if h := r.GetRuntimeHandler(); h != "" && h != "runc" {
		return nil, status.Errorf(codes.Unknown, "failed to get sandbox runtime: no runtime for %q is configured", h)
	}
	b, err := s.podBehaviour(config)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	box := &sandbox{id: newID(), config: config, handler: r.GetRuntimeHandler(), createdAt: time.Now()}
	name := sandboxName(config.GetMetadata())
	if err := s.reserve("sandbox", name, box.id); err != nil {
		return nil, err
	}
	if err := s.setUp(ctx, box, b); err != nil {
		s.release("sandbox", name)
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sandboxes[box.id] = box
	s.sendEvent(box, box.id, runtimeapi.ContainerEventType_CONTAINER_CREATED_EVENT)
	s.sendEvent(box, box.id, runtimeapi.ContainerEventType_CONTAINER_STARTED_EVENT)
	return &runtimeapi.RunPodSandboxResponse{PodSandboxId: box.id}, nil
}

func (s *Server) podBehaviour(config *runtimeapi.PodSandboxConfig) (behaviour, error) {
	m := config.GetMetadata()
	return s.scenario.Load().behaviourOf(podName{m.GetNamespace(), m.GetName()}, "", "", config.GetAnnotations())
}

// setUp does the parts that can fail: the requested faults, and the network.
func (s *Server) setUp(ctx context.Context, box *sandbox, b behaviour) error {
	faulty := b.sandboxHang > 0 || b.sandboxError != "" || b.cniError != ""
	if faulty && s.strikes(box.config.GetMetadata().GetUid(), "", "sandbox", b.sandboxTimes) {
		if err := pass(ctx, b.sandboxHang); err != nil {
			return err
		}
		if b.sandboxError != "" {
			return status.Error(codes.Unknown, b.sandboxError)
		}
		if b.cniError != "" {
			return networkError(box.id, fmt.Sprintf("plugin type=%q failed (add): %s", "bridge", b.cniError))
		}
	}
	if box.hostNetwork() {
		return nil
	}
	if !trueUnlessSet(s.scenario.Load().Node.NetworkReady) {
		return networkError(box.id, "cni plugin not initialized")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if box.address, err = s.addresses.take(); err != nil {
		return networkError(box.id, err.Error())
	}
	return nil
}

func networkError(id, text string) error {
	return status.Errorf(codes.Unknown, "failed to setup network for sandbox %q: %s", id, text)
}

// StopPodSandbox kills the containers in the sandbox and frees its address. It is idempotent, and accepts a sandbox
// that does not exist.
func (s *Server) StopPodSandbox(ctx context.Context, r *runtimeapi.StopPodSandboxRequest) (*runtimeapi.StopPodSandboxResponse, error) {
	s.mu.Lock()
	box := s.sandboxes[r.GetPodSandboxId()]
	s.mu.Unlock()
	if box == nil {
		return &runtimeapi.StopPodSandboxResponse{}, nil
	}
	return &runtimeapi.StopPodSandboxResponse{}, s.stopSandbox(ctx, box)
}

func (s *Server) stopSandbox(ctx context.Context, box *sandbox) error {
	s.mu.Lock()
	all := s.containersOf(box)
	s.mu.Unlock()
	for _, c := range all {
		if err := s.stop(ctx, c, 0); err != nil {
			return status.Errorf(status.Code(err), "failed to stop container %q: %s", c.id, status.Convert(err).Message())
		}
	}
	s.mu.Lock()
	ready := box.state == runtimeapi.PodSandboxState_SANDBOX_READY
	s.mu.Unlock()
	if !ready {
		return nil
	}
	// The annotations were checked when the sandbox was made.
	if b, _ := s.podBehaviour(box.config); b.sandboxStopError != "" &&
		s.strikes(box.config.GetMetadata().GetUid(), "", "sandbox-stop", b.sandboxStopTimes) {
		return status.Errorf(codes.Unknown, "failed to destroy network for sandbox %q: plugin type=%q failed (delete): %s", box.id, "bridge", b.sandboxStopError)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if box.state == runtimeapi.PodSandboxState_SANDBOX_READY {
		box.state = runtimeapi.PodSandboxState_SANDBOX_NOTREADY
		s.giveBack(box)
		s.sendEvent(box, box.id, runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT)
	}
	return nil
}

// giveBack frees the sandbox's address. s.mu is held.
func (s *Server) giveBack(box *sandbox) {
	if box.address.IsValid() {
		s.addresses.free(box.address)
		box.address = netip.Addr{}
	}
}

// RemovePodSandbox removes a sandbox with its containers. If it is not stopped, it is stopped first. It is
// idempotent.
func (s *Server) RemovePodSandbox(ctx context.Context, r *runtimeapi.RemovePodSandboxRequest) (*runtimeapi.RemovePodSandboxResponse, error) {
	s.mu.Lock()
	box := s.sandboxes[r.GetPodSandboxId()]
	s.mu.Unlock()
	if box == nil {
		return &runtimeapi.RemovePodSandboxResponse{}, nil
	}
	if err := s.stopSandbox(ctx, box); err != nil {
		return nil, err
	}
	s.mu.Lock()
	all := s.containersOf(box)
	s.mu.Unlock()
	for _, c := range all {
		if err := s.removeContainer(ctx, c); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sandboxes[box.id] == nil {
		return &runtimeapi.RemovePodSandboxResponse{}, nil
	}
	s.sendEvent(box, box.id, runtimeapi.ContainerEventType_CONTAINER_DELETED_EVENT)
	delete(s.sandboxes, box.id)
	delete(s.names, "sandbox"+sandboxName(box.config.GetMetadata()))
	return &runtimeapi.RemovePodSandboxResponse{}, nil
}

// UpdatePodSandboxResources accepts any resources: a sandbox uses none.
func (s *Server) UpdatePodSandboxResources(_ context.Context, r *runtimeapi.UpdatePodSandboxResourcesRequest) (*runtimeapi.UpdatePodSandboxResourcesResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.sandboxByID(r.GetPodSandboxId())
	return &runtimeapi.UpdatePodSandboxResourcesResponse{}, err
}
