// Package dradriver is a DRA driver for labs: a plugin of the kubelet that registers, publishes devices and prepares
// them for pods, as the driver of real hardware does. Its devices are names. To prepare one is to write its CDI spec, by
// which a runtime would give a container the variable PODSTEP_DEVICE.
//
// It runs in a process of its own, which podstep-lab starts: a person may kill it, and see what becomes of pods.
package dradriver

import (
	"context"
	"errors"
	"fmt"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"k8s.io/klog/v2"
)

// Name is the name of the driver, and of its DeviceClass.
const Name = "device.podstep.dev"

// driver answers the kubelet. The helper of real drivers, kubeletplugin, takes its calls and fetches the claims.
type driver struct {
	node  string
	specs specs
	// fail ends the driver.
	fail context.CancelCauseFunc
}

// PrepareResourceClaims gives claims their devices. A claim that cannot have them gets an error of its own, and the
// kubelet asks again.
func (d *driver) PrepareResourceClaims(_ context.Context, claims []*resourceapi.ResourceClaim) (map[types.UID]kubeletplugin.PrepareResult, error) {
	out := map[types.UID]kubeletplugin.PrepareResult{}
	for _, claim := range claims {
		devices, err := d.prepare(claim)
		out[claim.UID] = kubeletplugin.PrepareResult{Devices: devices, Err: err}
	}
	return out, nil
}

func (d *driver) prepare(claim *resourceapi.ResourceClaim) (devices []kubeletplugin.Device, err error) {
	if claim.Status.Allocation == nil {
		return nil, fmt.Errorf("prepare claim %s: no device is allocated to it", claim.Name)
	}
	var names []string
	for _, r := range claim.Status.Allocation.Devices.Results {
		if r.Driver != Name || r.Pool != d.node {
			continue
		}
		names = append(names, r.Device)
		devices = append(devices, kubeletplugin.Device{
			Requests: []string{r.Request}, PoolName: r.Pool, DeviceName: r.Device, CDIDeviceIDs: []string{cdiID(claim.UID, r.Device)},
		})
	}
	if err := d.specs.write(claim.UID, names); err != nil {
		return nil, fmt.Errorf("prepare claim %s: %w", claim.Name, err)
	}
	klog.InfoS("Prepared", "claim", klog.KObj(claim), "devices", names)
	return devices, nil
}

// UnprepareResourceClaims takes the devices back. It is no error if a claim is not prepared: the kubelet may ask twice.
func (d *driver) UnprepareResourceClaims(_ context.Context, claims []kubeletplugin.NamespacedObject) (map[types.UID]error, error) {
	out := map[types.UID]error{}
	for _, claim := range claims {
		out[claim.UID] = d.specs.remove(claim.UID)
		klog.InfoS("Unprepared", "claim", klog.KRef(claim.Namespace, claim.Name), "err", out[claim.UID])
	}
	return out, nil
}

// HandleError takes the errors of the helper's background work.
func (d *driver) HandleError(_ context.Context, err error, message string) {
	klog.ErrorS(err, message)
	if !errors.Is(err, kubeletplugin.ErrRecoverable) {
		d.fail(fmt.Errorf("%s: %w", message, err))
	}
}
