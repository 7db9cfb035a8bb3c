//go:build sim

package stuck

import (
	"os/exec"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/labtest"
)

// onNode binds a pod to the lab's node, past the scheduler: the kubelet alone judges it.
func onNode(e *Env, change func(*corev1.Pod)) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.NodeName = e.State.Node
		change(p)
	}
}

func TestAdmission(t *testing.T) {
	refused := func(cause string, change func(*corev1.Pod)) Case {
		// On a node that has just started, the API server may refuse the kubelet's first status of the pod. It is
		// sent again after 10 s. Until then only failing mounts can be seen, because the kubelet never registered the
		// pod's ConfigMap.
		return Case{Cause: cause, Meanwhile: []string{"volumes.setUp"}, Make: func(e *Env) { e.Busybox(labtest.Sleep, onNode(e, change)) }}
	}
	inLab(t, []Case{
		refused("admission.outOfCpu", asking(corev1.ResourceCPU, "64")),
		refused("admission.outOfMemory", asking(corev1.ResourceMemory, "1Ti")),
		refused("admission.outOfStorage", asking(corev1.ResourceEphemeralStorage, "10Ti")),
		refused("admission.nodeAffinity", func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} }),
		refused("admission.os", func(p *corev1.Pod) { p.Spec.OS = &corev1.PodOS{Name: corev1.Windows} }),
		refused("admission.sysctl", func(p *corev1.Pod) {
			p.Spec.SecurityContext = &corev1.PodSecurityContext{Sysctls: []corev1.Sysctl{{Name: "kernel.msgmax", Value: "65536"}}}
		}),
		refused("admission.appArmor", func(p *corev1.Pod) {
			profile := "no-such-profile"
			p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{AppArmorProfile: &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeLocalhost, LocalhostProfile: &profile}}
		}),
		{Cause: "admission.hostPort", Culprit: "pod NS/blocker", Make: func(e *Env) {
			port := func(p *corev1.Pod) {
				p.Spec.Containers[0].Ports = []corev1.ContainerPort{{ContainerPort: 18081, HostPort: 18081}}
			}
			e.blocker(port)
			e.Busybox(labtest.Sleep, onNode(e, port))
		}},
	})
}

func pressure(e *Env, signals ...string) {
	e.T.Helper()
	cmd := exec.Command(labtest.Bin(e.T, "podstep-lab"), append([]string{"pressure", "--dir", e.Dir}, signals...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		e.T.Fatalf("podstep-lab pressure %v: %v\n%s", signals, err, out)
	}
}

// TestAdmissionPressure: a pod that is created while the node is short of memory is not admitted.
func TestAdmissionPressure(t *testing.T) {
	alone(t, []Case{{Cause: "admission.pressure", Make: func(e *Env) {
		pressure(e, "memory.available=50Mi")
		labtest.Eventually(e.T, "the node is under pressure", func() bool {
			n := e.nodeNow()
			for _, k := range n.Status.Conditions {
				if k.Type == corev1.NodeMemoryPressure {
					return k.Status == corev1.ConditionTrue
				}
			}
			return false
		})
		e.Busybox(labtest.Sleep, onNode(e, func(*corev1.Pod) {}))
	}}})
}
