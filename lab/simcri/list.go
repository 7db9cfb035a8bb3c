package simcri

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/lab/simcri/ash"
)

// sortByAge sorts the oldest first.
func sortByAge[T any](all []T, key func(T) (time.Time, string)) {
	slices.SortFunc(all, func(a, b T) int {
		at, aID := key(a)
		bt, bID := key(b)
		return cmp.Or(at.Compare(bt), cmp.Compare(aID, bID))
	})
}

func hasLabels(labels, wanted map[string]string) bool {
	for k, v := range wanted {
		if got, ok := labels[k]; !ok || got != v {
			return false
		}
	}
	return true
}

// nanos returns a time in the CRI's form: 0 is no time.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func (s *Server) listSandboxes(f *runtimeapi.PodSandboxFilter) []*runtimeapi.PodSandbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*runtimeapi.PodSandbox
	for _, b := range s.sandboxes {
		if f.GetId() != "" && f.GetId() != b.id || f.GetState() != nil && f.GetState().GetState() != b.state ||
			!hasLabels(b.config.GetLabels(), f.GetLabelSelector()) {
			continue
		}
		all = append(all, &runtimeapi.PodSandbox{
			Id: b.id, Metadata: b.config.GetMetadata(), State: b.state, CreatedAt: nanos(b.createdAt),
			Labels: b.config.GetLabels(), Annotations: b.config.GetAnnotations(), RuntimeHandler: b.handler,
		})
	}
	slices.SortFunc(all, func(a, b *runtimeapi.PodSandbox) int {
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.Id, b.Id))
	})
	return all
}

// ListPodSandbox lists sandboxes, oldest first.
func (s *Server) ListPodSandbox(_ context.Context, r *runtimeapi.ListPodSandboxRequest) (*runtimeapi.ListPodSandboxResponse, error) {
	return &runtimeapi.ListPodSandboxResponse{Items: s.listSandboxes(r.GetFilter())}, nil
}

// sandboxStatus returns a sandbox as it is now. s.mu is held.
func (s *Server) sandboxStatus(b *sandbox) *runtimeapi.PodSandboxStatus {
	st := &runtimeapi.PodSandboxStatus{
		Id: b.id, Metadata: b.config.GetMetadata(), State: b.state, CreatedAt: nanos(b.createdAt),
		Network: &runtimeapi.PodSandboxNetworkStatus{},
		Linux: &runtimeapi.LinuxPodSandboxStatus{Namespaces: &runtimeapi.Namespace{
			Options: b.config.GetLinux().GetSecurityContext().GetNamespaceOptions(),
		}},
		Labels: b.config.GetLabels(), Annotations: b.config.GetAnnotations(), RuntimeHandler: b.handler,
	}
	if b.address.IsValid() {
		st.Network.Ip = b.address.String()
	}
	return st
}

// PodSandboxStatus reports one sandbox.
func (s *Server) PodSandboxStatus(_ context.Context, r *runtimeapi.PodSandboxStatusRequest) (*runtimeapi.PodSandboxStatusResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, err := s.sandboxByID(r.GetPodSandboxId())
	if err != nil {
		return nil, err
	}
	answer := &runtimeapi.PodSandboxStatusResponse{Status: s.sandboxStatus(b), Timestamp: time.Now().UnixNano()}
	for _, c := range s.containersOf(b) {
		answer.ContainersStatuses = append(answer.ContainersStatuses, s.containerStatus(c))
	}
	if r.GetVerbose() {
		answer.Info = info(map[string]any{"runtimeHandler": b.handler, "config": b.config, "address": s.addressOf(b)})
	}
	return answer, nil
}

// info returns the extra part of a verbose answer.
func info(v any) map[string]string {
	text, err := json.Marshal(v)
	if err != nil {
		text = []byte(`{}`)
	}
	return map[string]string{"info": string(text)}
}

func (s *Server) listContainers(f *runtimeapi.ContainerFilter) []*runtimeapi.Container {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*runtimeapi.Container
	for _, c := range s.containers {
		if f.GetId() != "" && f.GetId() != c.id || f.GetState() != nil && f.GetState().GetState() != c.state ||
			f.GetPodSandboxId() != "" && f.GetPodSandboxId() != c.sandbox.id ||
			!hasLabels(c.config.GetLabels(), f.GetLabelSelector()) {
			continue
		}
		all = append(all, &runtimeapi.Container{
			Id: c.id, PodSandboxId: c.sandbox.id, Metadata: c.meta, Image: c.config.GetImage(), ImageRef: c.image.ref(),
			State: c.state, CreatedAt: nanos(c.createdAt), Labels: c.config.GetLabels(), Annotations: c.config.GetAnnotations(),
			ImageId: c.image.id,
		})
	}
	slices.SortFunc(all, func(a, b *runtimeapi.Container) int {
		return cmp.Or(cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.Id, b.Id))
	})
	return all
}

// ListContainers lists containers, oldest first.
func (s *Server) ListContainers(_ context.Context, r *runtimeapi.ListContainersRequest) (*runtimeapi.ListContainersResponse, error) {
	return &runtimeapi.ListContainersResponse{Containers: s.listContainers(r.GetFilter())}, nil
}

// containerStatus returns a container as it is now. s.mu is held.
func (s *Server) containerStatus(c *container) *runtimeapi.ContainerStatus {
	spec := &runtimeapi.ImageSpec{Image: c.image.name(), UserSpecifiedImage: c.config.GetImage().GetUserSpecifiedImage()}
	return &runtimeapi.ContainerStatus{
		Id: c.id, Metadata: c.meta, State: c.state,
		CreatedAt: nanos(c.createdAt), StartedAt: nanos(c.startedAt), FinishedAt: nanos(c.finishedAt),
		ExitCode: c.ended.code, Reason: c.ended.reason, Message: c.ended.message,
		Image: spec, ImageRef: c.image.ref(), ImageId: c.image.id,
		Labels: c.config.GetLabels(), Annotations: c.config.GetAnnotations(), Mounts: c.config.GetMounts(),
		LogPath: c.log.path, Resources: &runtimeapi.ContainerResources{Linux: c.config.GetLinux().GetResources()},
		User: c.user(), StopSignal: c.stopSignal(),
	}
}

func (c *container) stopSignal() runtimeapi.Signal {
	if s := c.config.GetStopSignal(); s != runtimeapi.Signal_RUNTIME_DEFAULT {
		return s
	}
	return runtimeapi.Signal_SIGTERM
}

// user returns the user that the container runs as.
func (c *container) user() *runtimeapi.ContainerUser {
	u := userOf(c.config, c.image)
	return &runtimeapi.ContainerUser{Linux: &runtimeapi.LinuxContainerUser{Uid: u.UID, Gid: u.GID, SupplementalGroups: u.Groups}}
}

// userOf returns the user that the pod states, or else the image's. The groups that an image has are not known.
func userOf(config *runtimeapi.ContainerConfig, i *image) ash.User {
	sc := config.GetLinux().GetSecurityContext()
	u := ash.User{UID: i.uid, Name: cmp.Or(sc.GetRunAsUsername(), i.user)}
	if v := sc.GetRunAsUser(); v != nil {
		u.UID, u.Name = v.GetValue(), ""
	}
	u.GID = sc.GetRunAsGroup().GetValue()
	u.Groups = slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(sc.GetSupplementalGroups()), u.GID))))
	return u
}

// ContainerStatus reports one container.
func (s *Server) ContainerStatus(_ context.Context, r *runtimeapi.ContainerStatusRequest) (*runtimeapi.ContainerStatusResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.containerByID(r.GetContainerId())
	if err != nil {
		return nil, err
	}
	answer := &runtimeapi.ContainerStatusResponse{Status: s.containerStatus(c)}
	if r.GetVerbose() {
		answer.Info = info(map[string]any{"sandboxID": c.sandbox.id, "config": c.config})
	}
	return answer, nil
}
