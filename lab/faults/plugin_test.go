package faults

import (
	"context"
	"net"
	"path/filepath"
	"slices"
	"testing"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	drapb "k8s.io/kubelet/pkg/apis/dra/v1"
)

const draService = "/k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/"

// driver is a plugin that does nothing, and counts the volumes that it publishes.
type driver struct {
	csi.UnimplementedNodeServer
	drapb.UnimplementedDRAPluginServer
	published int
}

func (d *driver) NodePublishVolume(context.Context, *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	d.published++
	return &csi.NodePublishVolumeResponse{}, nil
}

func (d *driver) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	return &csi.NodeGetCapabilitiesResponse{Capabilities: []*csi.NodeServiceCapability{{}}}, nil
}

func (d *driver) NodePrepareResources(_ context.Context, r *drapb.NodePrepareResourcesRequest) (*drapb.NodePrepareResourcesResponse, error) {
	out := &drapb.NodePrepareResourcesResponse{Claims: map[string]*drapb.NodePrepareResourceResponse{}}
	for _, c := range r.Claims {
		out.Claims[c.Uid] = &drapb.NodePrepareResourceResponse{Devices: []*drapb.Device{{CdiDeviceIds: []string{"one"}}}}
	}
	return out, nil
}

// newDriver returns a plugin behind a Socket, as a kubelet sees it.
func newDriver(t *testing.T, table *Table) (d *driver, storage csi.NodeClient, devices drapb.DRAPluginClient) {
	t.Helper()
	dir := t.TempDir()
	socket, between := filepath.Join(dir, "p.sock"), filepath.Join(dir, "f.sock")
	d = &driver{}
	server := grpc.NewServer()
	csi.RegisterNodeServer(server, d)
	drapb.RegisterDRAPluginServer(server, d)
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ListenSocket(table, Plugin, between, socket)
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	go func() { _ = s.Serve() }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		server.Stop()
	})
	c := dialled(t, between)
	return d, csi.NewNodeClient(c), drapb.NewDRAPluginClient(c)
}

// TestPluginCallsHaveOwners: a call belongs to the pod whose volume or claim it names, and one that names neither to the
// pod that is alone on its node.
func TestPluginCallsHaveOwners(t *testing.T) {
	table := NewTable()
	_, storage, devices := newDriver(t, table)
	for _, namespace := range []string{"a", "b"} {
		table.Watch(namespace, nil)
		table.Learn(namespace, "volume-"+namespace)
	}
	ask := func() {
		t.Helper()
		if _, err := storage.NodePublishVolume(t.Context(), &csi.NodePublishVolumeRequest{VolumeId: "volume-a"}); err != nil {
			t.Fatal(err)
		}
		if _, err := devices.NodePrepareResources(t.Context(), &drapb.NodePrepareResourcesRequest{Claims: []*drapb.Claim{{Namespace: "a", Uid: "1"}}}); err != nil {
			t.Fatal(err)
		}
		if _, err := storage.NodeGetCapabilities(t.Context(), &csi.NodeGetCapabilitiesRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	ask()
	table.Only("a")
	ask()
	var seen []string
	for _, o := range table.Seen("a") {
		seen = append(seen, o.String())
	}
	want := []string{"plugin NodePublishVolume #1", "plugin NodePrepareResources #1", "plugin NodePublishVolume #2", "plugin NodePrepareResources #2", "plugin NodeGetCapabilities #1"}
	if !slices.Equal(seen, want) {
		t.Errorf("seen is %v, not %v", seen, want)
	}
	if others := table.Seen("b"); len(others) > 0 {
		t.Errorf("another pod has %v", others)
	}
}

// TestBrokenPluginCalls: a call fails with its code, is carried out or not, and answers what is not so.
func TestBrokenPluginCalls(t *testing.T) {
	publish := Call{Side: Plugin, Method: "NodePublishVolume"}
	for _, c := range []struct {
		action    Action
		code      codes.Code
		published int
	}{{Unavailable, codes.Unavailable, 0}, {Empty, codes.OK, 0}, {Lost, codes.Unavailable, 1}} {
		table := NewTable()
		d, storage, _ := newDriver(t, table)
		table.Learn("a", "volume-a")
		table.Watch("a", &Rule{Call: publish, From: 1, Action: c.action, Text: "on purpose"})
		_, err := storage.NodePublishVolume(t.Context(), &csi.NodePublishVolumeRequest{VolumeId: "volume-a"})
		if status.Code(err) != c.code || d.published != c.published {
			t.Errorf("%s: the call ends with %v, and %d volumes are published", c.action, err, d.published)
		}
	}
	table := NewTable()
	_, storage, devices := newDriver(t, table)
	table.Watch("a", &Rule{Call: Call{Side: Plugin, Method: "NodePrepareResources"}, From: 1, Action: Wrong})
	got, err := devices.NodePrepareResources(t.Context(), &drapb.NodePrepareResourcesRequest{Claims: []*drapb.Claim{{Namespace: "a", Uid: "1"}}})
	if err != nil || got.Claims["1"].Devices[0].CdiDeviceIds[0] == "one" {
		t.Errorf("a device is %v, %v", got, err)
	}
	table.Only("b")
	table.Watch("b", &Rule{Call: Call{Side: Plugin, Method: "NodeGetCapabilities"}, From: 1, Action: Wrong})
	can, err := storage.NodeGetCapabilities(t.Context(), &csi.NodeGetCapabilitiesRequest{})
	if err != nil || len(can.Capabilities) != 0 {
		t.Errorf("the driver can do %v, %v", can, err)
	}
}

// TestBrokenDevicePlugin: a device plugin names devices that nobody has, or that are broken, or can do nothing.
func TestBrokenDevicePlugin(t *testing.T) {
	table := NewTable()
	table.Only("a")
	wrong := func(method string, answer proto.Message) any {
		t.Helper()
		table.Watch("a", &Rule{Call: Call{Side: Plugin, Method: method}, From: 1, Action: Wrong})
		text, err := proto.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		c := (&Socket{table: table, side: Plugin}).decode("/v1beta1.DevicePlugin/"+method, nil)
		if rule, _ := c.strike(); rule == nil || rule.Action != Wrong {
			t.Fatalf("%s is not broken", method)
		}
		if _, err := c.contradict(text); err != nil {
			t.Fatal(err)
		}
		return typed(c.answer)
	}
	if a := wrong("Allocate", &pluginapi.AllocateResponse{ContainerResponses: []*pluginapi.ContainerAllocateResponse{{}}}).(*pluginapi.AllocateResponse); len(a.ContainerResponses[0].CdiDevices) != 1 {
		t.Errorf("the container gets %v", a)
	}
	if a := wrong("ListAndWatch", &pluginapi.ListAndWatchResponse{Devices: []*pluginapi.Device{{Health: pluginapi.Healthy}}}).(*pluginapi.ListAndWatchResponse); a.Devices[0].Health != pluginapi.Unhealthy {
		t.Errorf("the devices are %v", a)
	}
	if a := wrong("GetPreferredAllocation", &pluginapi.PreferredAllocationResponse{ContainerResponses: []*pluginapi.ContainerPreferredAllocationResponse{{DeviceIDs: []string{"one"}}}}).(*pluginapi.PreferredAllocationResponse); a.ContainerResponses[0].DeviceIDs[0] == "one" {
		t.Errorf("the plugin prefers %v", a)
	}
	if a := wrong("GetDevicePluginOptions", &pluginapi.DevicePluginOptions{PreStartRequired: true}).(*pluginapi.DevicePluginOptions); a.PreStartRequired {
		t.Errorf("the plugin can do %v", a)
	}
}
