//go:build sim

package stuck

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/labtest"
)

// failing makes a pod for which a step of the kubelet fails, as often as it is tried.
func failing(step, message string) func(*Env) {
	return func(e *Env) {
		e.T.Helper()
		e.Must("break", "add", e.Namespace+"/web", "--step", step, "--action", "fail="+message, "--times", "100")
		e.Busybox(labtest.Sleep, nil)
	}
}

// TestSandboxSteps: faults that a simulated runtime cannot produce are injected into the kubelet's own functions. The
// kubelet itself handles the error.
func TestSandboxSteps(t *testing.T) {
	silent := map[Way]string{API: ""} // the API server has nothing of it
	inLab(t, []Case{
		{Cause: "sandbox.podCgroup", Make: failing("sync.cgroup", "mkdir /sys/fs/cgroup/kubepods/besteffort: cannot allocate memory")},
		{Cause: "sandbox.dataDirs", Make: failing("sync.dirs", "mkdir /var/lib/kubelet/pods: read-only file system")},
		{Cause: "sandbox.config", Make: failing("rt.sandboxconfig", "Encountered error while parsing resolv conf file. Error: nameserver list is empty")},
		{Cause: "sandbox.statusFailed", Make: failing("cri.PodSandboxStatus", "NotFound: sandbox 4c8e59a8c573: not found")},
		{Cause: "sandbox.imageVolumes", Only: silent, Make: failing("rt.imagevolumes", `runtimeclass.node.k8s.io "gvisor" not found`)},
	})
}

// TestNetwork: the runtime reports that the node has no network.
func TestNetwork(t *testing.T) {
	file := scenarioFile(t)
	writeScenario(t, file, "node: {networkReady: true}\n")
	alone(t, []Case{{Cause: "sandbox.networkNotReady", Make: func(e *Env) {
		writeScenario(t, file, "node: {networkReady: false}\n")
		labtest.Eventually(e.T, "node is not ready", func() bool {
			n, err := e.Client.CoreV1().Nodes().Get(e.Context(), "node-1", metav1.GetOptions{})
			if err != nil {
				return false
			}
			for _, k := range n.Status.Conditions {
				if k.Type == corev1.NodeReady {
					return k.Status != corev1.ConditionTrue
				}
			}
			return false
		})
		e.Busybox(labtest.Sleep, func(p *corev1.Pod) { p.Spec.NodeName = "node-1" })
	}}}, "--scenario", file)
}
