//go:build sim

package lab_test

import (
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/lab/deviceplugin"
)

// plugged makes a pod that asks for a device of the lab's device plugin.
func plugged(l *labtest.Lab, name string) {
	pod := labtest.BusyboxPod(name, `echo "device $PODSTEP_DEVICE"; `+labtest.Sleep)
	pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{deviceplugin.Resource: resource.MustParse("1")}
	l.Create(pod)
}

// TestDevicePlugin: a pod gets the one device of the lab's plugin when it is admitted. The plugin registers with a kubelet
// that is started again, which gives the device to nobody else, and the next pod gets it when the first is gone, from a
// plugin that has begun anew.
func TestDevicePlugin(t *testing.T) {
	l := labtest.StartSim(t, "--device-plugin=1", "--restart-kubelet")
	plugged(l, "first")
	l.UntilReady("first")
	inOrder(t, l.Story("first"), "admit.device", "cri.RunPodSandbox", "cri.CreateContainer")
	log, err := l.Client.CoreV1().Pods("default").GetLogs("first", &corev1.PodLogOptions{}).Do(l.Context()).Raw()
	if err != nil || string(log) != "device device-0\n" {
		t.Errorf("the container prints %q, %v", log, err)
	}
	l.KillPart("kubelet", syscall.SIGKILL)
	if err := syscall.Kill(l.State.Pids["device-plugin"], syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	plugged(l, "second")
	l.Until("second", "waiting for a device", func(p *corev1.Pod) bool {
		return len(p.Status.Conditions) > 0 && p.Status.Conditions[0].Status == corev1.ConditionFalse
	})
	l.UntilReady("first")
	l.Delete("first")
	l.UntilGone("first")
	l.UntilReady("second")
}
