//go:build sim

package stuck

import (
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/lab/csidriver"
	"github.com/podstep/podstep/lab/dradriver"
)

// The names of the lab's drivers among its parts.
const (
	driverPart  = "dra-driver"
	storagePart = "csi-driver"
)

// kill ends a part of the lab.
func (e *Env) kill(part string) {
	e.T.Helper()
	if err := syscall.Kill(e.State.Pids[part], syscall.SIGKILL); err != nil {
		e.T.Fatal(err)
	}
}

// TestDevices: pods whose devices are of a driver that has ended, or does not answer any more.
func TestDevices(t *testing.T) {
	driver := "driver " + dradriver.Name
	alone(t, []Case{
		{Cause: "sandbox.devices", Culprit: driver, Make: func(e *Env) {
			e.kill(driverPart)
			e.devices(dradriver.Name)
		}},
		// The API server shows only that the pod has no sandbox yet.
		{Cause: "sandbox.devicesHang", Culprit: driver, Skip: []Way{API}, Make: func(e *Env) {
			e.stop(driverPart)
			e.devices(dradriver.Name)
		}},
		{Cause: "terminating.draUnprepare", Culprit: driver, Skip: []Way{API}, Make: func(e *Env) {
			e.devices(dradriver.Name)
			e.Until("the pod runs", Running)
			e.kill(driverPart)
			e.DeletePod(new(int64(1)))
		}},
		{Cause: "terminating.draHangs", Culprit: driver, Skip: []Way{API}, Make: func(e *Env) {
			e.devices(dradriver.Name)
			e.Until("the pod runs", Running)
			e.stop(driverPart)
			e.DeletePod(new(int64(1)))
		}},
	}, "--devices=2")
}

// TestStorage: pods whose volumes are of a CSI driver that does not answer any more.
func TestStorage(t *testing.T) {
	driver, volume := "driver "+csidriver.Name, corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{Driver: csidriver.Name}}
	alone(t, []Case{
		// The API server shows only that the pod has no sandbox yet.
		{Cause: "volumes.driverSilent", Name: "stopped", Culprit: driver, Skip: []Way{API}, Make: func(e *Env) {
			e.stop(storagePart)
			with(volume)(e)
		}},
		{Cause: "volumes.driverAway", Culprit: driver, Make: func(e *Env) {
			e.kill(storagePart)
			with(volume)(e)
		}},
		{Cause: "terminating.unmountHangs", Name: "driver", Meanwhile: []string{"terminating.unmountWaits"}, Culprit: driver, Skip: []Way{API}, Make: func(e *Env) {
			with(volume)(e)
			e.Until("the pod runs", Running)
			e.stop(storagePart)
			e.DeletePod(new(int64(1)))
		}},
	}, "--storage")
}

// TestDevicesTaken: the node's only device is another pod's.
func TestDevicesTaken(t *testing.T) {
	alone(t, []Case{{Cause: "scheduling.devices", Name: "taken", Culprit: "pod NS/web", Make: func(e *Env) {
		e.devices(dradriver.Name)
		e.Until("the first pod runs", Running)
		e.deviceClaim("second", dradriver.Name)
		p := labtest.BusyboxPod("second", labtest.Sleep)
		usingDevices(p, "second")
		e.Pod(p)
	}}}, "--devices=1")
}
