package faults

import (
	"context"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/lab/simcri"
)

// node is a simulated runtime behind a Runtime, as a kubelet sees it.
type node struct {
	table   *Table
	direct  runtimeapi.RuntimeServiceClient
	runtime runtimeapi.RuntimeServiceClient
	images  runtimeapi.ImageServiceClient
}

func newNode(t *testing.T) *node {
	t.Helper()
	dir := t.TempDir()
	socket, between := filepath.Join(dir, "r.sock"), filepath.Join(dir, "f.sock")
	none := 0.0
	sim, err := simcri.Listen(simcri.Options{Socket: socket, Root: dir, NodeAddress: netip.MustParseAddr("127.0.0.1"), Scenario: &simcri.Scenario{Node: simcri.Node{Latency: &none}}})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = sim.Serve() }()
	n := &node{table: NewTable()}
	r, err := ListenSocket(n.table, CRI, between, socket)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = r.Serve() }()
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
		if err := sim.Close(); err != nil {
			t.Error(err)
		}
	})
	n.direct = runtimeapi.NewRuntimeServiceClient(dialled(t, socket))
	c := dialled(t, between)
	n.runtime, n.images = runtimeapi.NewRuntimeServiceClient(c), runtimeapi.NewImageServiceClient(c)
	return n
}

func dialled(t *testing.T, socket string) *grpc.ClientConn {
	t.Helper()
	c, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func sandboxConfig(namespace string) *runtimeapi.PodSandboxConfig {
	return &runtimeapi.PodSandboxConfig{Metadata: &runtimeapi.PodSandboxMetadata{Name: "web", Namespace: namespace, Uid: "uid-" + namespace}}
}

// start makes a pod with a container and returns the container's id.
func (n *node) start(t *testing.T, namespace string) string {
	t.Helper()
	ctx := t.Context()
	config := sandboxConfig(namespace)
	sandbox, err := n.runtime.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{Config: config})
	if err != nil {
		t.Fatal(err)
	}
	image := &runtimeapi.ImageSpec{Image: ImageOf(namespace, "app")}
	if _, err := n.images.PullImage(ctx, &runtimeapi.PullImageRequest{Image: image, SandboxConfig: config}); err != nil {
		t.Fatal(err)
	}
	c, err := n.runtime.CreateContainer(ctx, &runtimeapi.CreateContainerRequest{PodSandboxId: sandbox.PodSandboxId, SandboxConfig: config,
		Config: &runtimeapi.ContainerConfig{Metadata: &runtimeapi.ContainerMetadata{Name: "app"}, Image: image, Command: []string{"sleep", "1000"}}})
	if err != nil {
		t.Fatal(err)
	}
	return c.ContainerId
}

func TestRuntimeCallsHaveOwners(t *testing.T) {
	n := newNode(t)
	n.table.Watch("a", nil)
	n.table.Learn("a", "uid-a")
	id := n.start(t, "a")
	n.start(t, "b")
	ctx := t.Context()
	if _, err := n.runtime.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: id}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{LabelSelector: map[string]string{uidLabel: "uid-a"}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.images.ImageStatus(ctx, &runtimeapi.ImageStatusRequest{Image: &runtimeapi.ImageSpec{Image: ImageOf("a", "app")}}); err != nil {
		t.Fatal(err)
	}
	if _, err := n.runtime.Version(ctx, &runtimeapi.VersionRequest{}); err != nil {
		t.Fatal(err)
	}
	want := []string{"cri RunPodSandbox #1", "cri PullImage app #1", "cri CreateContainer app #1", "cri StartContainer app #1", "cri ListContainers #1", "cri ImageStatus app #1"}
	seen := n.table.Seen("a")
	if len(seen) != len(want) {
		t.Fatalf("seen is %v", seen)
	}
	for i, o := range seen {
		if o.String() != want[i] {
			t.Errorf("call %d is %s, not %s", i, o, want[i])
		}
	}
}

// state returns a container's state as the runtime has it.
func (n *node) state(t *testing.T, id string) runtimeapi.ContainerState {
	t.Helper()
	s, err := n.direct.ContainerStatus(t.Context(), &runtimeapi.ContainerStatusRequest{ContainerId: id})
	if err != nil {
		t.Fatal(err)
	}
	return s.Status.State
}

func TestBrokenRuntimeCalls(t *testing.T) {
	const created, running = runtimeapi.ContainerState_CONTAINER_CREATED, runtimeapi.ContainerState_CONTAINER_RUNNING
	for _, c := range []struct {
		action Action
		code   codes.Code
		state  runtimeapi.ContainerState
	}{
		{Unknown, codes.Unknown, created},
		{Unavailable, codes.Unavailable, created},
		{NotFound, codes.NotFound, created},
		{ResourceExhausted, codes.ResourceExhausted, created},
		{DeadlineExceeded, codes.DeadlineExceeded, created},
		{Empty, codes.OK, created},
		{Lost, codes.Unavailable, running},
	} {
		t.Run(string(c.action), func(t *testing.T) {
			n := newNode(t)
			n.table.Watch("a", &Rule{Call: Call{CRI, "StartContainer", "app"}, From: 1, Action: c.action, Text: "on purpose"})
			id := n.start(t, "a")
			_, err := n.runtime.StartContainer(t.Context(), &runtimeapi.StartContainerRequest{ContainerId: id})
			if status.Code(err) != c.code {
				t.Errorf("the call ends with %v", err)
			}
			if got := n.state(t, id); got != c.state {
				t.Errorf("the container is %s", got)
			}
		})
	}
}

// TestHangingCall: a call hangs until the caller gives up, or until the rule is lifted.
func TestHangingCall(t *testing.T) {
	n := newNode(t)
	n.table.Watch("a", &Rule{Call: Call{CRI, "StartContainer", "app"}, From: 1, Always: true, Action: Hang})
	id := n.start(t, "a")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := n.runtime.StartContainer(ctx, &runtimeapi.StartContainerRequest{ContainerId: id}); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("the call ends with %v", err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := n.runtime.StartContainer(t.Context(), &runtimeapi.StartContainerRequest{ContainerId: id})
		ended <- err
	}()
	for calls := 0; calls < 2; calls, _ = n.table.Broken("a") {
		time.Sleep(time.Millisecond)
	}
	n.table.Forget("a")
	if err := <-ended; status.Code(err) != codes.Unavailable {
		t.Errorf("the call ends with %v", err)
	}
}

// TestWrongAnswers sweeps the methods whose answers can be wrong: each differs from what the runtime says.
func TestWrongAnswers(t *testing.T) {
	n := newNode(t)
	id := n.start(t, "a")
	n.table.Watch("a", &Rule{Call: Call{CRI, "ContainerStatus", "app"}, From: 1, Action: Wrong})
	ask := func() runtimeapi.ContainerState {
		s, err := n.runtime.ContainerStatus(t.Context(), &runtimeapi.ContainerStatusRequest{ContainerId: id})
		if err != nil {
			t.Fatal(err)
		}
		return s.Status.State
	}
	if wrong, right := ask(), ask(); wrong == right {
		t.Errorf("both answers are %s", right)
	}
	for method := range canContradict {
		service, side := "/runtime.v1.RuntimeService/", CRI
		switch method {
		case "PullImage", "ImageStatus":
			service = "/runtime.v1.ImageService/"
		case "NodePrepareResources":
			service, side = draService, Plugin
		case GetCredentials:
			continue // it is no call
		case "Allocate", "GetPreferredAllocation", "ListAndWatch", "GetDevicePluginOptions":
			service, side = "/v1beta1.DevicePlugin/", Plugin
		case "NodeGetCapabilities":
			service, side = "/csi.v1.Node/", Plugin
		}
		c := &call{method: method, side: side}
		if c.request, c.answer = messages(service + method); c.answer == nil {
			t.Errorf("%s is no method", method)
			continue
		}
		if _, err := c.contradict(nil); err != nil {
			t.Errorf("%s: %v", method, err)
		}
	}
}
