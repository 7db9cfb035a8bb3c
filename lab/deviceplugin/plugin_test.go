package deviceplugin

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/podstep/podstep/lab/plugin"
)

// kubelet takes registrations, as a kubelet does.
type kubelet struct {
	pluginapi.UnimplementedRegistrationServer
	requests chan *pluginapi.RegisterRequest
}

func (k *kubelet) Register(_ context.Context, r *pluginapi.RegisterRequest) (*pluginapi.Empty, error) {
	k.requests <- r
	return &pluginapi.Empty{}, nil
}

// newKubelet serves the kubelet's socket in its root directory, and returns what registers there.
func newKubelet(t *testing.T, root string) (requests chan *pluginapi.RegisterRequest, stop func()) {
	t.Helper()
	if err := os.MkdirAll(Dir(root), 0o755); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(Dir(root), kubeletSocket))
	if err != nil {
		t.Fatal(err)
	}
	k := &kubelet{requests: make(chan *pluginapi.RegisterRequest, 10)}
	s := grpc.NewServer()
	pluginapi.RegisterRegistrationServer(s, k)
	go func() { _ = s.Serve(listener) }()
	t.Cleanup(s.Stop)
	return k.requests, s.Stop
}

func registered(t *testing.T, requests chan *pluginapi.RegisterRequest) *pluginapi.RegisterRequest {
	t.Helper()
	select {
	case r := <-requests:
		return r
	case <-time.After(20 * time.Second):
		t.Fatal("the plugin does not register")
		return nil
	}
}

// TestPlugin: the plugin registers with each kubelet and each time that it begins anew, lists its devices, and gives them
// to containers.
func TestPlugin(t *testing.T) {
	root, anew := t.TempDir(), make(chan os.Signal, 1)
	o := Options{Devices: 2, Anew: anew, Place: plugin.Place{Kubelet: root, Socket: filepath.Join(root, "plugins", "p.sock"), Called: filepath.Join(root, "plugins", "p.sock")}}
	requests, stop := newKubelet(t, root)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- Run(ctx, o) }()
	if r := registered(t, requests); r.Endpoint != "../plugins/p.sock" || r.ResourceName != Resource || r.Version != "v1beta1" {
		t.Errorf("it registers with %v", r)
	}
	anew <- syscall.SIGHUP
	registered(t, requests)
	stop()
	requests, _ = newKubelet(t, root)
	registered(t, requests)
	ask(t, o.Socket)
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// ask makes the calls of a kubelet.
func ask(t *testing.T, socket string) {
	t.Helper()
	conn, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := pluginapi.NewDevicePluginClient(conn)
	stream, err := client.ListAndWatch(t.Context(), &pluginapi.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	if all, err := stream.Recv(); err != nil || len(all.Devices) != 2 || all.Devices[1].ID != "device-1" || all.Devices[1].Health != pluginapi.Healthy {
		t.Errorf("the devices are %v, %v", all, err)
	}
	preferred, err := client.GetPreferredAllocation(t.Context(), &pluginapi.PreferredAllocationRequest{ContainerRequests: []*pluginapi.ContainerPreferredAllocationRequest{
		{AvailableDeviceIDs: []string{"device-1", "device-0"}, AllocationSize: 1}}})
	if err != nil || len(preferred.ContainerResponses) != 1 || preferred.ContainerResponses[0].DeviceIDs[0] != "device-1" {
		t.Errorf("it prefers %v, %v", preferred, err)
	}
	given, err := client.Allocate(t.Context(), &pluginapi.AllocateRequest{ContainerRequests: []*pluginapi.ContainerAllocateRequest{{DevicesIds: []string{"device-1"}}}})
	if err != nil || given.ContainerResponses[0].Envs[variable] != "device-1" {
		t.Errorf("it gives %v, %v", given, err)
	}
	for _, id := range []string{"device-2", "device-01", "device--1", "other"} {
		_, err := client.Allocate(t.Context(), &pluginapi.AllocateRequest{ContainerRequests: []*pluginapi.ContainerAllocateRequest{{DevicesIds: []string{id}}}})
		if status.Code(err) != codes.NotFound {
			t.Errorf("device %s: %v", id, err)
		}
	}
	if _, err := client.PreStartContainer(t.Context(), &pluginapi.PreStartContainerRequest{DevicesIds: []string{"device-1"}}); err != nil {
		t.Error(err)
	}
}
