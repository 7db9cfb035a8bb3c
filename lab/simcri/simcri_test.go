package simcri

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// node is a server and a client of it.
type node struct {
	t   *testing.T
	ctx context.Context
	s   *Server
	dir string
	runtimeapi.RuntimeServiceClient
	runtimeapi.ImageServiceClient
	events *eventLog
}

// start runs a server on a socket of its own, without latencies.
func start(t *testing.T, scenario string) *node {
	t.Helper()
	dir := t.TempDir()
	if !strings.Contains(scenario, "node:") {
		scenario += "\nnode: {latency: 0, pullSpeed: 1Ti}\n"
	}
	sc, err := ParseScenario([]byte(scenario))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Listen(Options{Socket: filepath.Join(dir, "cri.sock"), Root: filepath.Join(dir, "root"), Scenario: sc})
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := s.Serve(); err != nil {
			t.Error(err)
		}
	})
	conn, err := grpc.NewClient("unix://"+filepath.Join(dir, "cri.sock"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n := &node{t: t, ctx: ctx, s: s, dir: dir,
		RuntimeServiceClient: runtimeapi.NewRuntimeServiceClient(conn), ImageServiceClient: runtimeapi.NewImageServiceClient(conn)}
	n.events = n.listen()
	t.Cleanup(func() {
		cancel()
		conn.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		serving.Wait()
	})
	return n
}

// eventLog keeps all events, for tests that wait for one.
type eventLog struct {
	sync.Mutex
	all     []*runtimeapi.ContainerEventResponse
	changed chan struct{}
}

func (n *node) listen() *eventLog {
	stream, err := n.GetContainerEvents(n.ctx, &runtimeapi.GetEventsRequest{})
	if err != nil {
		n.t.Fatal(err)
	}
	log := &eventLog{changed: make(chan struct{})}
	go func() {
		for {
			e, err := stream.Recv()
			if err != nil {
				return
			}
			log.Lock()
			log.all = append(log.all, e)
			close(log.changed)
			log.changed = make(chan struct{})
			log.Unlock()
		}
	}()
	for { // until the server knows of the stream
		n.s.mu.Lock()
		known := len(n.s.watchers)
		n.s.mu.Unlock()
		if known > 0 {
			return log
		}
		if _, err := n.Version(n.ctx, &runtimeapi.VersionRequest{}); err != nil {
			n.t.Fatal(err)
		}
	}
}

// await waits for an event of a container or sandbox, by its id.
func (n *node) await(id string, kind runtimeapi.ContainerEventType) *runtimeapi.ContainerEventResponse {
	n.t.Helper()
	for {
		n.events.Lock()
		changed := n.events.changed
		for _, e := range n.events.all {
			if e.ContainerId == id && e.ContainerEventType == kind {
				n.events.Unlock()
				return e
			}
		}
		n.events.Unlock()
		select {
		case <-changed:
		case <-n.t.Context().Done():
			n.t.Fatalf("no %s of %s", kind, id)
		}
	}
}

// volume makes a directory where the kubelet has those of a pod.
func (n *node) volume(pod, name string) string {
	n.t.Helper()
	dir := filepath.Join(n.dir, "pods", pod+"-uid", name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		n.t.Fatal(err)
	}
	return dir
}

// pod returns the configuration of a sandbox.
func (n *node) pod(name string, annotations map[string]string) *runtimeapi.PodSandboxConfig {
	logs := filepath.Join(n.dir, "logs", name)
	if err := os.MkdirAll(logs, 0o755); err != nil {
		n.t.Fatal(err)
	}
	return &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{Name: name, Namespace: "default", Uid: name + "-uid"},
		Hostname: name, LogDirectory: logs, Labels: map[string]string{"app": name}, Annotations: annotations,
		Linux: &runtimeapi.LinuxPodSandboxConfig{SecurityContext: &runtimeapi.LinuxSandboxSecurityContext{
			NamespaceOptions: &runtimeapi.NamespaceOption{Pid: runtimeapi.NamespaceMode_CONTAINER},
		}},
	}
}

func (n *node) run(config *runtimeapi.PodSandboxConfig) string {
	n.t.Helper()
	r, err := n.RunPodSandbox(n.ctx, &runtimeapi.RunPodSandboxRequest{Config: config})
	if err != nil {
		n.t.Fatal(err)
	}
	return r.PodSandboxId
}

const busybox = "busybox:1.35"

// create makes a container that runs a command.
func (n *node) create(box string, pod *runtimeapi.PodSandboxConfig, command ...string) string {
	n.t.Helper()
	return n.createFrom(box, pod, &runtimeapi.ContainerConfig{Command: command})
}

func (n *node) createFrom(box string, pod *runtimeapi.PodSandboxConfig, config *runtimeapi.ContainerConfig) string {
	n.t.Helper()
	image, err := n.PullImage(n.ctx, &runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: busybox}})
	if err != nil {
		n.t.Fatal(err)
	}
	if config.Metadata == nil {
		config.Metadata = &runtimeapi.ContainerMetadata{Name: "app"}
	}
	config.LogPath = config.Metadata.Name + ".log"
	config.Image = &runtimeapi.ImageSpec{Image: image.ImageRef, UserSpecifiedImage: busybox}
	r, err := n.CreateContainer(n.ctx, &runtimeapi.CreateContainerRequest{PodSandboxId: box, Config: config, SandboxConfig: pod})
	if err != nil {
		n.t.Fatal(err)
	}
	return r.ContainerId
}

func (n *node) begin(id string) {
	n.t.Helper()
	if _, err := n.StartContainer(n.ctx, &runtimeapi.StartContainerRequest{ContainerId: id}); err != nil {
		n.t.Fatal(err)
	}
}

// launch runs a pod with one container and returns the ids of both.
func (n *node) launch(name string, annotations map[string]string, command ...string) (box, id string) {
	n.t.Helper()
	config := n.pod(name, annotations)
	box = n.run(config)
	id = n.create(box, config, command...)
	n.begin(id)
	return box, id
}

func (n *node) statusOf(id string) *runtimeapi.ContainerStatus {
	n.t.Helper()
	r, err := n.ContainerStatus(n.ctx, &runtimeapi.ContainerStatusRequest{ContainerId: id})
	if err != nil {
		n.t.Fatal(err)
	}
	return r.Status
}

// exitOf waits until a container has exited.
func (n *node) exitOf(id string) *runtimeapi.ContainerStatus {
	n.t.Helper()
	n.await(id, runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT)
	return n.statusOf(id)
}

// logOf returns a container's log without the times.
func (n *node) logOf(pod string) string {
	n.t.Helper()
	data, err := os.ReadFile(filepath.Join(n.dir, "logs", pod, "app.log"))
	if err != nil {
		n.t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(data)) {
		_, rest, ok := strings.Cut(line, " ")
		if !ok {
			n.t.Fatalf("log line %q", line)
		}
		b.WriteString(rest)
	}
	return b.String()
}

func wantCode(t *testing.T, err error, code codes.Code, parts ...string) {
	t.Helper()
	if status.Code(err) != code {
		t.Fatalf("got %v, want the code %v", err, code)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("%v does not say %q", err, p)
		}
	}
}
