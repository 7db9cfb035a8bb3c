//go:build vm

package vm_test

import (
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/podstep/podstep/agent/labtest"
)

// inPod: podstep is attached in a pod, as docs/examples/attach/pod.yaml has it. In turn that pod is deleted at once, all
// that is in its control group is killed, and all is frozen. Each time a pod is held, and goes on: the processes in the
// path have left the group.
func inPod(t *testing.T, n *node) {
	a := &attached{n: n, t: t, before: n.must(runtimeSocket)}
	for name, end := range map[string]string{
		"deleted": "true",
		"killed":  "echo 1 >cgroup.kill",
		"frozen":  "echo 1 >cgroup.freeze",
	} {
		group := n.createPodstep(t)
		n.until("ready: the agent in the pod", "podstep pods >/dev/null 2>&1")
		n.until("podstep's: the runtime's path", "[ \"$("+runtimeSocket+")\" != '"+a.before+"' ]")
		n.hold(name, "cri.RunPodSandbox")
		within := "cd " + group + "\n"
		if in := n.must(within + `cat $(find . -name cgroup.procs) | while read pid; do tr '\0' ' ' </proc/$pid/cmdline; echo; done`); !strings.Contains(in, "podstep attach") || strings.Contains(in, "podstep relay") {
			t.Errorf("in the control group of podstep's pod are: %s", in)
		}
		n.must(within + end)
		n.deletePodstep(t)
		t.Logf("%s: podstep's pod; pod %s was Ready after %v", name, name, n.readyAfter(name))
		a.gone()
		n.until("gone: the control group", "[ ! -e "+group+" ]")
		n.deletePod(name)
	}
}

// createPodstep creates the pod of the example on the machine's node, and returns its control group's directory.
func (n *node) createPodstep(t *testing.T) (group string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/examples/attach/pod.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var p corev1.Pod
	if err := yaml.UnmarshalStrict(text, &p); err != nil {
		t.Fatal(err)
	}
	p.Spec.NodeName, p.Spec.Containers[0].Image, p.Spec.RestartPolicy = nodeName, labtest.PodstepImage, corev1.RestartPolicyNever
	created, err := n.Client.CoreV1().Pods(p.Namespace).Create(n.Context(), &p, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	find := "find /sys/fs/cgroup -type d -name '*" + strings.ReplaceAll(string(created.UID), "-", "_") + "*' -prune"
	n.until("there: the control group of podstep's pod", "[ -n \"$("+find+")\" ]")
	return n.must(find)
}

// deletePodstep deletes that pod without grace.
func (n *node) deletePodstep(t *testing.T) {
	t.Helper()
	if err := n.Client.CoreV1().Pods("kube-system").Delete(n.Context(), "podstep-attach", *metav1.NewDeleteOptions(0)); err != nil {
		t.Fatal(err)
	}
}
