package faults

import (
	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	drapb "k8s.io/kubelet/pkg/apis/dra/v1"
)

// aboutPlugin returns whose call to a plugin it is: that of the pod that uses the claim or the volume. A CSI volume is
// known by its handle. A call that names neither is about the pod that has the node for itself, if there is one.
func (c *call) aboutPlugin() about {
	switch r := typed(c.request).(type) {
	case interface{ GetClaims() []*drapb.Claim }:
		for _, claim := range r.GetClaims() {
			return about{namespace: claim.GetNamespace()}
		}
	case interface{ GetVolumeId() string }:
		return c.table.whose(r.GetVolumeId())
	}
	return about{namespace: c.table.only()}
}

// contradictPlugin makes an answer wrong: a device that the runtime or the kubelet does not know, or that is broken, or a
// driver that can do nothing.
func (c *call) contradictPlugin() {
	switch a := typed(c.answer).(type) {
	case *drapb.NodePrepareResourcesResponse:
		for _, claim := range a.GetClaims() {
			for _, d := range claim.GetDevices() {
				d.CdiDeviceIds = []string{"podstep.dev/device=" + nobodys}
			}
		}
	case *pluginapi.AllocateResponse:
		for _, c := range a.GetContainerResponses() {
			c.CdiDevices = []*pluginapi.CDIDevice{{Name: "podstep.dev/device=" + nobodys}}
		}
	case *pluginapi.PreferredAllocationResponse:
		for _, c := range a.GetContainerResponses() {
			c.DeviceIDs = []string{nobodys}
		}
	case *pluginapi.ListAndWatchResponse:
		for _, d := range a.GetDevices() {
			d.Health = pluginapi.Unhealthy
		}
	case *pluginapi.DevicePluginOptions:
		a.PreStartRequired, a.GetPreferredAllocationAvailable = false, false
	case *csi.NodeGetCapabilitiesResponse:
		a.Capabilities = nil
	}
}

// typed returns a message as the type that its package has for it. The types of CSI are of protobuf's first generation.
func typed(m proto.Message) any {
	if m == nil {
		return nil
	}
	return protoadapt.MessageV1Of(m)
}
