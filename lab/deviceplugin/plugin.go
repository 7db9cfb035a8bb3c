// Package deviceplugin is a device plugin for labs: a plugin of the kubelet that registers, lists devices and gives them
// to containers, as the plugin of real hardware does. Its devices are names. A container that gets one has the variable
// PODSTEP_DEVICE.
//
// It runs in a process of its own, which podstep-lab starts: a person may kill it, and see what becomes of pods. SIGHUP
// makes it begin anew.
package deviceplugin

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/klog/v2"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// Resource is what a pod asks for to get a device.
const Resource = "podstep.dev/device"

// variable is the one that a container with a device has.
const variable = "PODSTEP_DEVICE"

// server answers the kubelet.
type server struct {
	pluginapi.UnimplementedDevicePluginServer
	devices int
	ends    <-chan struct{}
}

func (s *server) has(id string) bool {
	var n int
	_, err := fmt.Sscanf(id, "device-%d", &n)
	return err == nil && id == deviceID(n) && n >= 0 && n < s.devices
}

func deviceID(n int) string { return fmt.Sprintf("device-%d", n) }

// GetDevicePluginOptions asks the kubelet to make each call that there is.
func (*server) GetDevicePluginOptions(context.Context, *pluginapi.Empty) (*pluginapi.DevicePluginOptions, error) {
	return &pluginapi.DevicePluginOptions{PreStartRequired: true, GetPreferredAllocationAvailable: true}, nil
}

// ListAndWatch lists the devices once. All of them stay healthy.
func (s *server) ListAndWatch(_ *pluginapi.Empty, kubelet grpc.ServerStreamingServer[pluginapi.ListAndWatchResponse]) error {
	all := &pluginapi.ListAndWatchResponse{}
	for n := range s.devices {
		all.Devices = append(all.Devices, &pluginapi.Device{ID: deviceID(n), Health: pluginapi.Healthy})
	}
	if err := kubelet.Send(all); err != nil {
		return err
	}
	select {
	case <-s.ends:
	case <-kubelet.Context().Done():
	}
	return nil
}

// GetPreferredAllocation takes the first devices that are free.
func (*server) GetPreferredAllocation(_ context.Context, r *pluginapi.PreferredAllocationRequest) (*pluginapi.PreferredAllocationResponse, error) {
	out := &pluginapi.PreferredAllocationResponse{}
	for _, c := range r.GetContainerRequests() {
		n := min(int(c.GetAllocationSize()), len(c.GetAvailableDeviceIDs()))
		out.ContainerResponses = append(out.ContainerResponses, &pluginapi.ContainerPreferredAllocationResponse{DeviceIDs: c.GetAvailableDeviceIDs()[:max(n, 0)]})
	}
	return out, nil
}

// Allocate states what a container with the devices has.
func (s *server) Allocate(_ context.Context, r *pluginapi.AllocateRequest) (*pluginapi.AllocateResponse, error) {
	out := &pluginapi.AllocateResponse{}
	for _, c := range r.GetContainerRequests() {
		one := &pluginapi.ContainerAllocateResponse{Envs: map[string]string{}}
		for _, id := range c.GetDevicesIds() {
			if !s.has(id) {
				return nil, status.Errorf(codes.NotFound, "there is no device %s", id)
			}
			one.Envs[variable] = id
		}
		klog.InfoS("Allocated", "devices", c.GetDevicesIds())
		out.ContainerResponses = append(out.ContainerResponses, one)
	}
	return out, nil
}

// PreStartContainer is where the plugin of real hardware resets a device. There is nothing to reset here.
func (s *server) PreStartContainer(_ context.Context, r *pluginapi.PreStartContainerRequest) (*pluginapi.PreStartContainerResponse, error) {
	for _, id := range r.GetDevicesIds() {
		if !s.has(id) {
			return nil, status.Errorf(codes.NotFound, "there is no device %s", id)
		}
	}
	return &pluginapi.PreStartContainerResponse{}, nil
}
