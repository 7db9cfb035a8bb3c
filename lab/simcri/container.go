package simcri

import (
	"context"
	"path/filepath"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// CreateContainer makes a container in a sandbox that is ready.
func (s *Server) CreateContainer(_ context.Context, r *runtimeapi.CreateContainerRequest) (*runtimeapi.CreateContainerResponse, error) {
	config := r.GetConfig()
	if config.GetMetadata().GetName() == "" {
		return nil, status.Error(codes.InvalidArgument, "container config must include metadata with a name")
	}
	if sc := config.GetLinux().GetSecurityContext(); sc.GetRunAsGroup() != nil && sc.GetRunAsUser() == nil && sc.GetRunAsUsername() == "" {
		return nil, status.Errorf(codes.InvalidArgument, "user group %d is specified without user", sc.GetRunAsGroup().GetValue())
	}
	c, err := s.newContainer(r.GetPodSandboxId(), config)
	if err != nil {
		return nil, err
	}
	name := containerName(config.GetMetadata(), c.sandbox.config.GetMetadata())
	if err := s.reserve("container", name, c.id); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sandboxes[c.sandbox.id] == nil {
		delete(s.names, "container"+name)
		return nil, status.Errorf(codes.NotFound, "failed to find sandbox id %q: not found", c.sandbox.id)
	}
	s.containers[c.id] = c
	s.sendEvent(c.sandbox, c.id, runtimeapi.ContainerEventType_CONTAINER_CREATED_EVENT)
	return &runtimeapi.CreateContainerResponse{ContainerId: c.id}, nil
}

func (s *Server) newContainer(sandboxID string, config *runtimeapi.ContainerConfig) (*container, error) {
	s.mu.Lock()
	box := s.sandboxes[sandboxID]
	ready := box != nil && box.state == runtimeapi.PodSandboxState_SANDBOX_READY
	image := s.imageByRef(config.GetImage().GetImage())
	s.mu.Unlock()
	switch {
	case box == nil:
		return nil, status.Errorf(codes.NotFound, "failed to find sandbox id %q: not found", sandboxID)
	case !ready:
		return nil, status.Errorf(codes.Unknown, "failed to create containerd container: sandbox container %q is not running", sandboxID)
	case config.GetLinux().GetSecurityContext().GetPrivileged() && !box.config.GetLinux().GetSecurityContext().GetPrivileged():
		return nil, status.Error(codes.Unknown, "failed to generate container spec: no privileged container allowed in sandbox")
	case image == nil:
		return nil, status.Errorf(codes.NotFound, "failed to resolve image %q: not found", config.GetImage().GetImage())
	}
	b, err := s.containerBehaviour(box, config)
	if err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	devices, err := s.deviceEnv(config)
	if err != nil {
		return nil, err
	}
	pod := box.config.GetMetadata()
	if b.createError != "" && s.strikes(pod.GetUid(), config.GetMetadata().GetName(), "create", b.createTimes) {
		return nil, status.Error(codes.Unknown, b.createError)
	}
	c := &container{id: newID(), sandbox: box, config: config, meta: config.GetMetadata(), image: image, behaviour: b, createdAt: time.Now(),
		state: runtimeapi.ContainerState_CONTAINER_CREATED, deviceEnv: devices}
	c.files = newFiles(s.containerDir(c.id), box.config, config)
	c.log = &logFile{tty: config.GetTty()}
	if dir, name := box.config.GetLogDirectory(), config.GetLogPath(); dir != "" && name != "" {
		c.log.path = filepath.Join(dir, name)
	}
	return c, nil
}

func (s *Server) containerBehaviour(box *sandbox, config *runtimeapi.ContainerConfig) (behaviour, error) {
	m := box.config.GetMetadata()
	image := config.GetImage().GetUserSpecifiedImage()
	if image == "" {
		image = config.GetImage().GetImage()
	}
	return s.scenario.Load().behaviourOf(podName{m.GetNamespace(), m.GetName()}, config.GetMetadata().GetName(), image, box.config.GetAnnotations())
}

// StartContainer starts a created container. A container that fails to start has exited.
func (s *Server) StartContainer(_ context.Context, r *runtimeapi.StartContainerRequest) (*runtimeapi.StartContainerResponse, error) {
	s.mu.Lock()
	c, err := s.containerByID(r.GetContainerId())
	if err == nil && (c.state != runtimeapi.ContainerState_CONTAINER_CREATED || c.starting) {
		err = status.Errorf(codes.FailedPrecondition, "failed to set starting state for container %q: container is in %s state", c.id, c.state)
	}
	if err == nil && c.sandbox.state != runtimeapi.PodSandboxState_SANDBOX_READY {
		err = status.Errorf(codes.FailedPrecondition, "sandbox container %q is not running", c.sandbox.id)
	}
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	c.starting = true
	s.mu.Unlock()

	err = s.failStart(c)
	if err == nil {
		err = c.log.open()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.starting = false
	if err != nil {
		s.end(c, ending{128, "StartError", err.Error()})
		return nil, status.Error(codes.Unknown, err.Error())
	}
	c.state, c.startedAt = runtimeapi.ContainerState_CONTAINER_RUNNING, time.Now()
	s.startTask(c)
	s.sendEvent(c.sandbox, c.id, runtimeapi.ContainerEventType_CONTAINER_STARTED_EVENT)
	return &runtimeapi.StartContainerResponse{}, nil
}

// StopContainer asks a container to end, and kills it after the grace period. It is idempotent, and accepts a
// container that does not exist.
func (s *Server) StopContainer(ctx context.Context, r *runtimeapi.StopContainerRequest) (*runtimeapi.StopContainerResponse, error) {
	s.mu.Lock()
	c := s.containers[r.GetContainerId()]
	s.mu.Unlock()
	if c == nil {
		return &runtimeapi.StopContainerResponse{}, nil
	}
	return &runtimeapi.StopContainerResponse{}, s.stop(ctx, c, time.Duration(r.GetTimeout())*time.Second)
}

// stop ends a container that runs: it asks for that, if there is a grace period, and then kills it and waits until it has
// exited. A container that cannot be killed stays, whichever call of the CRI wants it to end.
func (s *Server) stop(ctx context.Context, c *container, grace time.Duration) error {
	s.mu.Lock()
	t := c.task
	s.mu.Unlock()
	if t == nil {
		return nil
	}
	if grace > 0 {
		t.terminate()
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-t.done:
			return nil
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		case <-timer.C:
		}
	}
	b := c.behaviour
	if b.stopError != "" && s.strikes(c.sandbox.config.GetMetadata().GetUid(), c.meta.GetName(), "stop", b.stopTimes) {
		return status.Error(codes.Unknown, b.stopError)
	}
	t.kill()
	select {
	case <-t.done:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

// RemoveContainer removes a container, and kills it first if it runs. It is idempotent.
func (s *Server) RemoveContainer(ctx context.Context, r *runtimeapi.RemoveContainerRequest) (*runtimeapi.RemoveContainerResponse, error) {
	s.mu.Lock()
	c := s.containers[r.GetContainerId()]
	s.mu.Unlock()
	if c == nil {
		return &runtimeapi.RemoveContainerResponse{}, nil
	}
	return &runtimeapi.RemoveContainerResponse{}, s.removeContainer(ctx, c)
}

func (s *Server) removeContainer(ctx context.Context, c *container) error {
	s.mu.Lock()
	starting := c.starting
	s.mu.Unlock()
	if starting {
		return status.Errorf(codes.FailedPrecondition, "failed to set removing state for container %q: container is in starting state, can't be removed", c.id)
	}
	if err := s.stop(ctx, c, 0); err != nil {
		return err
	}
	if err := c.files.remove(); err != nil {
		return status.Errorf(codes.Unknown, "failed to remove container root directory: %v", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.containers[c.id] == nil {
		return nil
	}
	delete(s.containers, c.id)
	delete(s.names, "container"+containerName(c.meta, c.sandbox.config.GetMetadata()))
	s.sendEvent(c.sandbox, c.id, runtimeapi.ContainerEventType_CONTAINER_DELETED_EVENT)
	return nil
}

// end puts a container into its last state. s.mu is held.
func (s *Server) end(c *container, how ending) {
	c.state, c.finishedAt, c.ended, c.task = runtimeapi.ContainerState_CONTAINER_EXITED, time.Now(), how, nil
	s.sendEvent(c.sandbox, c.id, runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT)
}

// UpdateContainerResources keeps new resources.
func (s *Server) UpdateContainerResources(_ context.Context, r *runtimeapi.UpdateContainerResourcesRequest) (*runtimeapi.UpdateContainerResourcesResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.containerByID(r.GetContainerId())
	if err != nil {
		return nil, err
	}
	if c.state == runtimeapi.ContainerState_CONTAINER_EXITED {
		return nil, status.Errorf(codes.FailedPrecondition, "failed to update resources: container %q is in %s state", c.id, c.state)
	}
	config := proto.Clone(c.config).(*runtimeapi.ContainerConfig)
	if config.Linux == nil {
		config.Linux = &runtimeapi.LinuxContainerConfig{}
	}
	config.Linux.Resources = updated(config.Linux.Resources, r.GetLinux())
	c.config = config
	return &runtimeapi.UpdateContainerResourcesResponse{}, nil
}

// updated returns old with the changes of an update. Values that the update leaves out stay.
func updated(old, change *runtimeapi.LinuxContainerResources) *runtimeapi.LinuxContainerResources {
	if old == nil {
		old = &runtimeapi.LinuxContainerResources{}
	}
	unified := old.Unified
	if len(change.GetUnified()) > 0 {
		unified = change.Unified
	}
	proto.Merge(old, change)
	old.Unified = unified
	return old
}
