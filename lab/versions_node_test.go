//go:build node

package lab

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/labtest"
)

// TestVersions: a node of each kubelet and containerd passes the tests of a node. The control plane has one version,
// also beside a newer kubelet.
func TestVersions(t *testing.T) {
	for _, v := range labtest.Versions() {
		t.Run(v.Name(), func(t *testing.T) {
			flags := v.Flags(t)
			before := lookAtMachine(t)
			l := startLab(t, labDir(t), flags...)
			l.isOf(v)
			l.runExamples()
			if v.Containerd != "" {
				l.shimsOf(l.state.Pids["containerd"])
			}
			l.leave()
			before.same(t)
		})
	}
}

// isOf fails the test if the node does not have the requested version.
func (l *testLab) isOf(v labtest.Version) {
	l.t.Helper()
	node, err := l.client.CoreV1().Nodes().Get(testContext(l.t), nodeName, metav1.GetOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	info := node.Status.NodeInfo
	l.t.Logf("kubelet %s, %s", info.KubeletVersion, info.ContainerRuntimeVersion)
	if !strings.HasPrefix(info.KubeletVersion, v.Kubelet+".") {
		l.t.Errorf("the kubelet is %s, not %s", info.KubeletVersion, v.Kubelet)
	}
	_, version, _ := strings.Cut(info.ContainerRuntimeVersion, "://")
	version = strings.TrimPrefix(version, "v")
	if v.Containerd != "" && !strings.HasPrefix(version, v.Containerd+".") {
		l.t.Errorf("containerd is %s, not %s", version, v.Containerd)
	}
}

// shimsOf fails the test if a running shim is not the one beside its containerd: the machine has another shim.
func (l *testLab) shimsOf(containerd int) {
	l.t.Helper()
	path, err := os.Readlink("/proc/" + strconv.Itoa(containerd) + "/exe")
	if err != nil {
		l.t.Fatal(err)
	}
	want := filepath.Join(filepath.Dir(path), "containerd-shim-runc-v2")
	shims := 0
	for pid, command := range processesOf(l.t, l.names, l.dir) {
		// containerd starts a shim by its whole path.
		if got, _, _ := strings.Cut(command, " "); strings.HasPrefix(filepath.Base(got), "containerd-shim-") {
			shims++
			if got != want {
				l.t.Errorf("the shim %s is %s, not %s", pid, got, want)
			}
		}
	}
	if shims == 0 {
		l.t.Error("no shim runs")
	}
}
