//go:build sim

package stuck

import (
	"syscall"
	"testing"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/lab/dradriver"
)

// driverPart is the name of the lab's DRA driver among its parts.
const driverPart = "dra-driver"

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
	}, "--devices=2")
}

// TestDevicesTaken: the node's only device is another pod's.
func TestDevicesTaken(t *testing.T) {
	alone(t, []Case{{Cause: "scheduling.devices", Name: "taken", Make: func(e *Env) {
		e.devices(dradriver.Name)
		e.Until("the first pod runs", Running)
		e.deviceClaim("second", dradriver.Name)
		p := labtest.BusyboxPod("second", labtest.Sleep)
		usingDevices(p, "second")
		e.Pod(p)
	}}}, "--devices=1")
}
