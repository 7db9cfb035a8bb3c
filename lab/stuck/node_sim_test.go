//go:build sim

package stuck

import (
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/labtest"
)

// nodeNow returns the lab's node as the API server has it.
func (e *Env) nodeNow() *corev1.Node {
	e.T.Helper()
	n, err := e.Client.CoreV1().Nodes().Get(e.Context(), e.State.Node, metav1.GetOptions{})
	if err != nil {
		e.T.Fatal(err)
	}
	return n
}

// stop makes a part of the lab stand still until the test ends.
func (e *Env) stop(part string) {
	e.T.Helper()
	pid := e.State.Pids[part]
	if pid == 0 {
		e.T.Fatalf("the lab has no %s: %v", part, e.State.Pids)
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		e.T.Fatal(err)
	}
	e.T.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
}

func TestNodeAlone(t *testing.T) {
	alone(t, []Case{
		{Cause: "node.kubeletSilent", Make: func(e *Env) {
			e.stop("kubelet")
			e.Busybox(labtest.Sleep, nil)
		}, Skip: []Way{Woven}, Meanwhile: []string{"source.noReaction"}}, // the agent stops with the kubelet
		{Cause: "node.preempting", Make: func(e *Env) {
			grace := int64(60)
			e.blocker(func(p *corev1.Pod) {
				asking(corev1.ResourceCPU, "3")(p)
				p.Spec.TerminationGracePeriodSeconds = &grace
				p.Annotations = map[string]string{"sim.podstep.dev/term": "ignore"}
			})
			e.Busybox(labtest.Sleep, onNode(e, func(p *corev1.Pod) {
				asking(corev1.ResourceCPU, "3")(p)
				p.Spec.PriorityClassName = "system-node-critical"
			}))
		}, Meanwhile: []string{"source.noReaction"},
			// At the API server the waiting pod does not show it.
			Only: map[Way]string{API: ""}},
	})
}
