package lab

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/labstate"
)

func TestOptions(t *testing.T) {
	for _, o := range []Options{
		{Dir: "d", Runtime: labstate.Containerd},
		{Dir: "d", Runtime: labstate.Containerd, Kubelet: "k"},
		{Dir: "d", Runtime: labstate.Containerd, Containerd: "c"},
		{Dir: "d", Runtime: labstate.Sim},
		{Dir: "d", Runtime: labstate.Sim, Scenario: "s"},
		{Dir: "d", Runtime: labstate.Sim, MaxPods: 500},
		{Dir: "d", Runtime: labstate.Sim, Devices: maxDevices},
		{Dir: "d", Runtime: labstate.Sim, DevicePlugin: maxDevices},
	} {
		if err := o.check(); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for _, o := range []Options{
		{Runtime: labstate.Containerd},
		{Dir: "d"},
		{Dir: "d", Runtime: labstate.Sim, Kubelet: "k"},
		{Dir: "d", Runtime: labstate.Sim, Containerd: "c"},
		{Dir: "d", Runtime: labstate.Containerd, Scenario: "s"},
		{Dir: "d", Runtime: "docker"},
		{Dir: "d", Runtime: labstate.Sim, MaxPods: -1},
		{Dir: "d", Runtime: labstate.Sim, Devices: -1},
		{Dir: "d", Runtime: labstate.Sim, Devices: maxDevices + 1},
		{Dir: "d", Runtime: labstate.Containerd, Devices: 1},
		{Dir: "d", Runtime: labstate.Sim, DevicePlugin: -1},
		{Dir: "d", Runtime: labstate.Sim, DevicePlugin: maxDevices + 1},
		{Dir: "d", Runtime: labstate.Containerd, DevicePlugin: 1},
		{Dir: "d", Runtime: labstate.Sim, Nodes: -1},
		{Dir: "d", Runtime: labstate.Sim, Nodes: maxNodes + 1},
		{Dir: "d", Runtime: labstate.Containerd, Nodes: 2},
		{Dir: "d", Runtime: labstate.Containerd, Port: 65536},
		{Dir: "d", Runtime: labstate.Containerd, Port: -1},
	} {
		var usage *UsageError
		if err := o.check(); !errors.As(err, &usage) {
			t.Errorf("%+v: got %v", o, err)
		}
	}
}

// TestMaxPods: the kubelet takes as many pods as an option states, or by default as many as kubelets do.
func TestMaxPods(t *testing.T) {
	for n, want := range map[int]any{0: nil, 500: 500} {
		l := &Lab{options: Options{MaxPods: n}}
		if got := l.kubeletConfig(labNode{nodeName, l.paths})["maxPods"]; got != want {
			t.Errorf("--max-pods %d: the kubelet's maxPods is %v, want %v", n, got, want)
		}
	}
}

func TestKubeletPath(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"":                       "build podstep-kubelet beside podstep-lab",
		filepath.Join(dir, "no"): "no kubelet at",
		dir:                      "is not a program",
		plain:                    "is not a program",
	} {
		o := Options{Kubelet: path}
		if _, err := o.kubelet(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("kubelet %q: got %v, want %q", path, err, want)
		}
	}
	if err := os.Chmod(plain, 0o755); err != nil {
		t.Fatal(err)
	}
	o := Options{Kubelet: plain}
	if got, err := o.kubelet(); err != nil || got != plain {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestContainerdPath(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o755); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"": "", plain: plain} {
		o := Options{Containerd: path}
		if got, err := o.containerd(); err != nil || got != want {
			t.Errorf("containerd %q: got %q, %v", path, got, err)
		}
	}
	o := Options{Containerd: plain + "no"}
	if _, err := o.containerd(); err == nil || !strings.Contains(err.Error(), "--containerd PATH") {
		t.Errorf("got %v", err)
	}
}

func TestState(t *testing.T) {
	want := labstate.State{Dir: t.TempDir(), Ports: map[string]int{"etcd": 1}, Pids: map[string]int{"kubelet": 2}}
	if _, err := labstate.Read(want.Dir); err == nil || !strings.Contains(err.Error(), "no lab is running") {
		t.Errorf("got %v", err)
	}
	if err := want.Write(); err != nil {
		t.Fatal(err)
	}
	got, err := labstate.Read(want.Dir)
	if err != nil || got.Ports["etcd"] != 1 || got.Pids["kubelet"] != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestUsable(t *testing.T) {
	node := func(status corev1.ConditionStatus, taints ...corev1.Taint) *corev1.Node {
		return &corev1.Node{
			Spec:   corev1.NodeSpec{Taints: taints},
			Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}},
		}
	}
	if err := usable(node(corev1.ConditionTrue)); err != nil {
		t.Error(err)
	}
	for _, n := range []*corev1.Node{{}, node(corev1.ConditionFalse), node(corev1.ConditionTrue, corev1.Taint{Key: corev1.TaintNodeNotReady})} {
		if err := usable(n); err == nil {
			t.Errorf("%+v is usable", n)
		}
	}
}
