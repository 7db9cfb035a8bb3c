//go:build bench

package attach

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	// maxBenchMessage is the largest message that the kubelet and containerd accept.
	maxBenchMessage = 16 << 20
	// benchPods is how many pods the runtime has, each with one container.
	benchPods = 200
	// largeList is the size of the list for largeID, in bytes.
	largeList = 4 << 20
	largeID   = "large"
	// benchEvents is how many events a stream of events has.
	benchEvents = 20_000
)

// benchRuntime is a runtime that has its answers ready, so that only the way to it is measured. Messages have the
// sizes of containerd's.
type benchRuntime struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	runtimeapi.UnimplementedImageServiceServer
	sandboxes []*runtimeapi.PodSandbox
	few, many []*runtimeapi.Container
	event     *runtimeapi.ContainerEventResponse
}

func serveRuntime(l net.Listener) {
	r := &benchRuntime{event: benchEvent()}
	for i := range benchPods {
		c := benchSandbox(i)
		r.sandboxes = append(r.sandboxes, &runtimeapi.PodSandbox{
			Id: sandboxID(i), Metadata: c.Metadata, CreatedAt: 1, Labels: c.Labels, Annotations: c.Annotations,
		})
		r.few = append(r.few, benchContainer(i))
	}
	for size, one := 0, proto.Size(r.few[0])+3; size+one < largeList; size += one {
		r.many = append(r.many, r.few[len(r.many)%benchPods])
	}
	s := grpc.NewServer(grpc.MaxRecvMsgSize(maxBenchMessage), grpc.MaxSendMsgSize(maxBenchMessage))
	runtimeapi.RegisterRuntimeServiceServer(s, r)
	runtimeapi.RegisterImageServiceServer(s, r)
	_ = s.Serve(l)
}

// benchID has the length of a real one, and ends with the pod's number, as its uid does.
func benchID(kind byte, i int) string {
	return fmt.Sprintf("%s%c%08d", strings.Repeat("a", 55), kind, i)
}
func sandboxID(i int) string   { return benchID('b', i) }
func containerID(i int) string { return benchID('c', i) }
func benchUID(i int) string    { return fmt.Sprintf("00000000-0000-4000-8000-%012d", i) }

// benchIndex returns the number of the pod with an id or uid.
func benchIndex(id string) int {
	i, _ := strconv.Atoi(id[len(id)-min(8, len(id)):])
	return i
}

func benchSandbox(i int) *runtimeapi.PodSandboxConfig {
	name := fmt.Sprintf("web-7d4b9c6f5-%05d", i)
	return &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Namespace: "default", Name: name, Uid: benchUID(i)},
		Labels: map[string]string{
			"app": "web", "pod-template-hash": "7d4b9c6f5", "io.kubernetes.pod.name": name,
			"io.kubernetes.pod.namespace": "default", "io.kubernetes.pod.uid": benchUID(i),
		},
		Annotations: map[string]string{
			"kubernetes.io/config.seen": "2026-01-01T00:00:00.000000000Z", "kubernetes.io/config.source": "api",
		},
	}
}

func benchContainer(i int) *runtimeapi.Container {
	return &runtimeapi.Container{
		Id: containerID(i), PodSandboxId: sandboxID(i), State: runtimeapi.ContainerState_CONTAINER_RUNNING, CreatedAt: 1,
		Metadata: &runtimeapi.ContainerMetadata{Name: "web"},
		Image:    &runtimeapi.ImageSpec{Image: "sha256:" + strings.Repeat("0", 64)}, ImageRef: "sha256:" + strings.Repeat("0", 64),
		Labels: benchLabels(i), Annotations: benchAnnotations(),
	}
}

func benchLabels(i int) map[string]string {
	return map[string]string{
		"io.kubernetes.container.name": "web", "io.kubernetes.pod.name": benchSandbox(i).Metadata.Name,
		"io.kubernetes.pod.namespace": "default", "io.kubernetes.pod.uid": benchUID(i),
	}
}

func benchAnnotations() map[string]string {
	return map[string]string{
		"io.kubernetes.container.hash": "9f1a3b2c", "io.kubernetes.container.restartCount": "0",
		"io.kubernetes.container.terminationMessagePath":   "/dev/termination-log",
		"io.kubernetes.container.terminationMessagePolicy": "File", "io.kubernetes.pod.terminationGracePeriod": "30",
	}
}

// benchCreate returns a request for a container like one of the kubelet.
func benchCreate(i int) *runtimeapi.CreateContainerRequest {
	c := &runtimeapi.ContainerConfig{
		Metadata: &runtimeapi.ContainerMetadata{Name: "web"}, Image: &runtimeapi.ImageSpec{Image: "sha256:" + strings.Repeat("0", 64)},
		Command: []string{"/bin/web"}, Labels: benchLabels(i), Annotations: benchAnnotations(), LogPath: "web/0.log",
		Linux: &runtimeapi.LinuxContainerConfig{Resources: &runtimeapi.LinuxContainerResources{CpuShares: 100}},
	}
	for k := range 30 {
		c.Envs = append(c.Envs, &runtimeapi.KeyValue{Key: fmt.Sprintf("WEB_SERVICE_%d_PORT", k), Value: []byte("tcp://10.96.0.1:443")})
	}
	for k := range 5 {
		path := fmt.Sprintf("/var/lib/kubelet/pods/%s/volumes/kubernetes.io~empty-dir/v%d", benchUID(i), k)
		c.Mounts = append(c.Mounts, &runtimeapi.Mount{ContainerPath: fmt.Sprintf("/data/%d", k), HostPath: path})
	}
	return &runtimeapi.CreateContainerRequest{PodSandboxId: sandboxID(i), Config: c, SandboxConfig: benchSandbox(i)}
}

func benchEvent() *runtimeapi.ContainerEventResponse {
	return &runtimeapi.ContainerEventResponse{
		ContainerId: containerID(0), CreatedAt: 1,
		PodSandboxStatus:   &runtimeapi.PodSandboxStatus{Id: sandboxID(0), Metadata: benchSandbox(0).Metadata, Labels: benchSandbox(0).Labels},
		ContainersStatuses: []*runtimeapi.ContainerStatus{benchStatus(0)},
	}
}

func benchStatus(i int) *runtimeapi.ContainerStatus {
	c := benchContainer(i)
	return &runtimeapi.ContainerStatus{
		Id: c.Id, Metadata: c.Metadata, State: c.State, CreatedAt: 1, StartedAt: 2, Image: c.Image, ImageRef: c.ImageRef,
		Labels: c.Labels, Annotations: c.Annotations, Mounts: benchCreate(i).Config.Mounts,
		LogPath: "/var/log/pods/default_web-7d4b9c6f5_" + benchUID(i) + "/web/0.log",
	}
}

func (r *benchRuntime) Version(context.Context, *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{Version: "0.1.0", RuntimeName: "bench", RuntimeVersion: "v1", RuntimeApiVersion: "v1"}, nil
}

func (r *benchRuntime) Status(context.Context, *runtimeapi.StatusRequest) (*runtimeapi.StatusResponse, error) {
	ready := func(what string) *runtimeapi.RuntimeCondition {
		return &runtimeapi.RuntimeCondition{Type: what, Status: true}
	}
	return &runtimeapi.StatusResponse{Status: &runtimeapi.RuntimeStatus{
		Conditions: []*runtimeapi.RuntimeCondition{ready(runtimeapi.RuntimeReady), ready(runtimeapi.NetworkReady)},
	}}, nil
}

func (r *benchRuntime) ListPodSandbox(context.Context, *runtimeapi.ListPodSandboxRequest) (*runtimeapi.ListPodSandboxResponse, error) {
	return &runtimeapi.ListPodSandboxResponse{Items: r.sandboxes}, nil
}

func (r *benchRuntime) ListContainers(_ context.Context, q *runtimeapi.ListContainersRequest) (*runtimeapi.ListContainersResponse, error) {
	if q.GetFilter().GetId() == largeID {
		return &runtimeapi.ListContainersResponse{Containers: r.many}, nil
	}
	return &runtimeapi.ListContainersResponse{Containers: r.few}, nil
}

func (r *benchRuntime) RunPodSandbox(_ context.Context, q *runtimeapi.RunPodSandboxRequest) (*runtimeapi.RunPodSandboxResponse, error) {
	return &runtimeapi.RunPodSandboxResponse{PodSandboxId: sandboxID(benchIndex(q.GetConfig().GetMetadata().GetUid()))}, nil
}

func (r *benchRuntime) PodSandboxStatus(_ context.Context, q *runtimeapi.PodSandboxStatusRequest) (*runtimeapi.PodSandboxStatusResponse, error) {
	c := benchSandbox(benchIndex(q.PodSandboxId))
	return &runtimeapi.PodSandboxStatusResponse{Status: &runtimeapi.PodSandboxStatus{
		Id: q.PodSandboxId, Metadata: c.Metadata, Labels: c.Labels, Annotations: c.Annotations,
		Network: &runtimeapi.PodSandboxNetworkStatus{Ip: "10.0.0.1"},
	}}, nil
}

func (r *benchRuntime) StopPodSandbox(context.Context, *runtimeapi.StopPodSandboxRequest) (*runtimeapi.StopPodSandboxResponse, error) {
	return &runtimeapi.StopPodSandboxResponse{}, nil
}

func (r *benchRuntime) RemovePodSandbox(context.Context, *runtimeapi.RemovePodSandboxRequest) (*runtimeapi.RemovePodSandboxResponse, error) {
	return &runtimeapi.RemovePodSandboxResponse{}, nil
}

func (r *benchRuntime) CreateContainer(_ context.Context, q *runtimeapi.CreateContainerRequest) (*runtimeapi.CreateContainerResponse, error) {
	return &runtimeapi.CreateContainerResponse{ContainerId: containerID(benchIndex(q.GetSandboxConfig().GetMetadata().GetUid()))}, nil
}

func (r *benchRuntime) StartContainer(context.Context, *runtimeapi.StartContainerRequest) (*runtimeapi.StartContainerResponse, error) {
	return &runtimeapi.StartContainerResponse{}, nil
}

func (r *benchRuntime) ContainerStatus(_ context.Context, q *runtimeapi.ContainerStatusRequest) (*runtimeapi.ContainerStatusResponse, error) {
	return &runtimeapi.ContainerStatusResponse{Status: benchStatus(benchIndex(q.ContainerId))}, nil
}

func (r *benchRuntime) StopContainer(context.Context, *runtimeapi.StopContainerRequest) (*runtimeapi.StopContainerResponse, error) {
	return &runtimeapi.StopContainerResponse{}, nil
}

func (r *benchRuntime) RemoveContainer(context.Context, *runtimeapi.RemoveContainerRequest) (*runtimeapi.RemoveContainerResponse, error) {
	return &runtimeapi.RemoveContainerResponse{}, nil
}

func (r *benchRuntime) ExecSync(context.Context, *runtimeapi.ExecSyncRequest) (*runtimeapi.ExecSyncResponse, error) {
	return &runtimeapi.ExecSyncResponse{Stdout: []byte("ok\n")}, nil
}

func (r *benchRuntime) ImageStatus(_ context.Context, q *runtimeapi.ImageStatusRequest) (*runtimeapi.ImageStatusResponse, error) {
	return &runtimeapi.ImageStatusResponse{Image: &runtimeapi.Image{Id: "sha256:" + strings.Repeat("0", 64), RepoTags: []string{q.GetImage().GetImage()}, Size: 1 << 20}}, nil
}

// GetContainerEvents sends events as fast as the client receives them.
func (r *benchRuntime) GetContainerEvents(_ *runtimeapi.GetEventsRequest, s runtimeapi.RuntimeService_GetContainerEventsServer) error {
	for range benchEvents {
		if err := s.Send(r.event); err != nil {
			return err
		}
	}
	return nil
}
