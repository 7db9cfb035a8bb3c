//go:build sim

package tui_test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/tui/tuitest"
)

// TestNodesLab: on three nodes with a pod each, a pod is held on one node while the others live on, and a node whose
// kubelet is killed becomes a row with the reason, and nothing else changes.
func TestNodesLab(t *testing.T) {
	l := labtest.StartSim(t, "--nodes", "3")
	command := []string{labtest.Bin(t, "podstep")}
	for _, n := range l.State.Nodes {
		command = append(command, "--socket", n.Agent)
	}
	create := func(name, node string) {
		p := labtest.TinyPod(name)
		p.Spec.NodeName = node
		l.Create(p)
	}
	for i, n := range l.State.Nodes {
		create(fmt.Sprintf("pod-%d", i+1), n.Name)
	}
	for i := range l.State.Nodes {
		l.UntilReady(fmt.Sprintf("pod-%d", i+1))
	}
	term := tuitest.Start(t, 120, 36, utf8, command...)
	term.Until("3 nodes, 3 pods")
	for _, text := range []string{"node-1", "node-2", "node-3", "default/pod-1", "default/pod-2", "default/pod-3"} {
		term.Until(text)
	}
	several := command[1:]
	var held, errs string
	var code int
	l.Worked("pod-2", func() { held, errs, code = l.Podstep(append([]string{"hold", "pod-2"}, several...)...) })
	if code != 0 || !strings.Contains(held, "default/pod-2 is held") {
		t.Fatalf("hold: exit code %d: %s%s", code, held, errs)
	}
	term.Until("1 held")
	create("other-1", "node-1")
	create("other-2", "node-2")
	l.UntilReady("other-1")
	l.UntilReady("other-2")
	term.Until("3 nodes, 5 pods")
	if out := l.Must(append([]string{"pods", "pod-2"}, several...)...); !strings.Contains(out, "node-2") || !strings.Contains(out, "held") {
		t.Errorf("the pod is not held any more:\n%s", out)
	}
	l.Must(append([]string{"continue", "pod-2"}, several...)...)
	term.UntilGone("1 held")

	if err := unix.Kill(l.State.Pids["kubelet-node-3"], unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	term.Until("without answer: 1")
	term.Until("nobody listens at")
	out, errs, code := l.Podstep(append([]string{"pods"}, several...)...)
	if code != 1 || !strings.Contains(errs, "nobody listens at") || strings.Contains(out, "pod-3") {
		t.Errorf("pods with a lost node: exit code %d\n%s%s", code, out, errs)
	}
	for _, pod := range []string{"pod-1", "pod-2", "other-1", "other-2"} {
		if !strings.Contains(out, pod) {
			t.Errorf("%s is not listed after another node is lost:\n%s", pod, out)
		}
	}
	// A pod without a node is in no agent's list.
	nowhere := labtest.TinyPod("nowhere")
	nowhere.Spec.NodeName, nowhere.Spec.SchedulingGates = "", []corev1.PodSchedulingGate{{Name: "example.com/quota"}}
	l.Create(nowhere)
	term.Until("without a node: 1")
	term.Until("scheduling gates: example.com/")
	create("after", "node-1")
	l.UntilReady("after")
	term.Until("default/after")

	term.Press("Home", "Down", "Enter") // a node's screen shows the pod, too
	term.Until(" live ")
	term.Until("default/nowhere")
	term.Press("w")
	term.Until("scheduling gate")
	term.Press("C-n")
	term.Until("without a node: 1")

	term.Press("Home", "Down", "Down", "Enter") // the screen of node-1 itself
	term.Until(" live ")
	term.Until("other-1")
	term.Press("C-n")
	term.Until("without answer: 1")
	term.Press("q")
	term.Usable()
}
