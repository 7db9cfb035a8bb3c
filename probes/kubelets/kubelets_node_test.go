//go:build node

package kubelets

import (
	"net/http"
	"os"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/podstep/podstep/agent/labtest"
)

// TestNode finds the real kubelets of real nodes, which have a mount namespace
// of their own, and compares what is found with what the lab knows.
func TestNode(t *testing.T) {
	for name, woven := range map[string]bool{"kubelet": false, "podstep-kubelet": true} {
		t.Run(name, func(t *testing.T) {
			l := labtest.Start(t, "--kubelet", labtest.Bin(t, name))
			pid := l.State.Pids["kubelet"]
			all, err := Find(l.Context(), Options{})
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(all, func(k Kubelet) bool { return k.PID == pid })
			if i < 0 || !Is(pid, "") {
				t.Fatalf("kubelet %d is not found: %+v", pid, all)
			}
			k := all[i]
			checkNode(t, l, &k)
			if k.Woven != woven {
				t.Errorf("it is woven: %v, want %v", k.Woven, woven)
			}
			checkConfigz(t, l, k)
		})
	}
}

func checkNode(t *testing.T, l *labtest.Lab, k *Kubelet) {
	if len(k.Problems) > 0 || k.Doubt != "" {
		t.Errorf("problems %q, doubt %q", k.Problems, k.Doubt)
	}
	for what, pair := range map[string][2]string{
		"node":    {k.Node, l.State.Node},
		"runtime": {k.RuntimeEndpoint, l.State.CRI},
		"images":  {k.ImageEndpoint, l.State.CRI},
		"kind":    {k.Kind, KindPlain},
		"cgroups": {k.CgroupRoot, l.State.Cgroup},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s is %q, want %q", what, pair[0], pair[1])
		}
	}
	node, err := l.Client.CoreV1().Nodes().Get(l.Context(), l.State.Node, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if k.Version != node.Status.NodeInfo.KubeletVersion || k.Port != l.State.Ports["kubelet"] {
		t.Errorf("version %q, port %d; the node says %s", k.Version, k.Port, node.Status.NodeInfo.KubeletVersion)
	}
	if len(k.Connected) == 0 || k.Aside() != "" {
		t.Errorf("it is connected to %q, and %q is aside", k.Connected, k.Aside())
	}
	if err := k.Served(l.Context(), k.RuntimeEndpoint); err != nil {
		t.Error(err)
	}
	if f, err := k.Open(k.Kubeconfig); err != nil {
		t.Error(err)
	} else {
		_ = f.Close()
	}
	if _, err := os.Stat(k.InRoot(k.RootDir)); err != nil {
		t.Error(err)
	}
}

// checkConfigz asks the kubelet itself, with the credentials of a user that may.
func checkConfigz(t *testing.T, l *labtest.Lab, k Kubelet) {
	config, err := clientcmd.BuildConfigFromFlags("", l.State.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	if k.OwnNetwork {
		t.Fatal("the lab's node is in a network of its own, and cannot be asked from here")
	}
	updated, err := Configz(l.Context(), k, client)
	if err != nil {
		t.Fatal(err)
	}
	if updated.RuntimeEndpoint != k.RuntimeEndpoint || updated.CgroupRoot != k.CgroupRoot || updated.ReadOnlyPort != 0 || len(updated.Problems) > 0 {
		t.Errorf("/configz says %+v", updated)
	}
	k.Version = ""
	if updated, err = Configz(l.Context(), k, client); err != nil || updated.Version == "" {
		t.Errorf("its metrics have version %q, %v", updated.Version, err)
	}
	if _, err := Configz(l.Context(), k, http.DefaultClient); err == nil {
		t.Error("a certificate that nobody knows is trusted")
	}
}
