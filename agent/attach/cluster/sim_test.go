//go:build sim

package cluster

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/kubeport"
	"github.com/podstep/podstep/agent/labtest"
)

// TestNode follows a real API server and the kubelet's own code, with the
// credentials of an administrator and then with those of the kubelet.
func TestNode(t *testing.T) {
	node := labtest.StartSim(t)
	kubelet := kubeport.Kubeconfig{Path: filepath.Join(node.Dir, "config", "kubelet.kubeconfig")}

	t.Run("administrator", func(t *testing.T) {
		h := followNode(t, node, node.State.Kubeconfig, kubelet)
		node.Create(labtest.BusyboxPod("web", labtest.Sleep))
		h.until("cluster.kubelet", "known=true", "source=api")
		h.until("reported.condition", "type=Ready", "status=True")
		h.until("reported.event", "reason=Scheduled")
		if err := node.Client.CoreV1().Pods("default").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		h.until("cluster.gone")
		h.until("cluster.kubelet", "known=false")
		h.until("reported.event", "reason=Killing")
		h.inOrder(
			"cluster.bound node="+node.State.Node,
			"reported.container container=app state=waiting reason=ContainerCreating",
			"reported.container container=app state=running",
			"cluster.deleting grace=1",
			"cluster.gone",
		)
		h.inOrder("cluster.kubelet known=true source=api", "cluster.deleting", "cluster.kubelet known=false")
		h.inOrder("type=Initialized status=True", "state=running", "type=Ready status=True", "cluster.deleting")
		h.inOrder("reported.event type=Normal reason=Started", "reason=Killing")
		h.inOrder("reported.ip ips=[", "phase=Running")
	})

	t.Run("static pod", func(t *testing.T) {
		h := followNode(t, node, node.State.Kubeconfig, kubelet)
		text, err := os.ReadFile("../../../docs/examples/static.yaml")
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(node.Dir, "manifests", "static.yaml")
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		known := h.until("cluster.kubelet", "known=true", "source=file")
		bound := h.until("cluster.bound")
		if uid(bound.Pod) != known.Pod.UID || bound.Pod.UID == known.Pod.UID {
			t.Errorf("the mirror %s of %s is not published as one of %s", bound.Pod.UID, uid(bound.Pod), known.Pod.UID)
		}
		h.until("reported.phase", "phase=Running")
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		h.until("cluster.gone")
		h.until("cluster.kubelet", "known=false")
	})

	t.Run("kubelet", func(t *testing.T) {
		node.Create(labtest.BusyboxPod("before", labtest.Sleep))
		waitRunning(t, node, "before")
		h := followNode(t, node, "", kubelet)
		h.noted("events of the API server are not shown", "system:node:", "cannot list resource \"events\"")
		bound := h.until("cluster.bound", "from=object")
		if bound.Pod.Name != "before" {
			t.Errorf("%s is bound", bound.Pod.Name)
		}
		h.until("reported.condition", "type=Ready", "status=True", "from=object")
		h.inOrder("cluster.bound", "type=Initialized", "state=running restartCount=0", "phase=Running", "type=Ready status=True")
		node.Create(labtest.BusyboxPod("after", labtest.Sleep))
		for s := h.until("reported.phase", "phase=Running"); s.Pod.Name != "after"; {
			s = h.until("reported.phase", "phase=Running")
		}
	})
}

// followNode follows the node of a lab.
func followNode(t *testing.T, node *labtest.Lab, named string, kubelet kubeport.Kubeconfig) *collector {
	t.Helper()
	candidates := []kubeport.Kubeconfig{kubelet}
	if named != "" {
		candidates = kubeport.Candidates(named, "", kubelet)
	}
	config, _, err := kubeport.Credentials(candidates)
	if err != nil || config == nil {
		t.Fatalf("no credentials: %v", err)
	}
	n, err := node.Client.CoreV1().Nodes().Get(t.Context(), node.State.Node, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort(n.Status.Addresses[0].Address, strconv.Itoa(node.State.Ports["kubelet"]))
	pods, err := kubeport.New(config, kubeport.Address{Address: address})
	if err != nil {
		t.Fatal(err)
	}
	return followAs(t, node.State.Node, Options{API: config, Kubelet: pods})
}

func waitRunning(t *testing.T, node *labtest.Lab, name string) {
	t.Helper()
	w, err := node.Client.CoreV1().Pods("default").Watch(node.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if p, ok := e.Object.(*v1.Pod); ok && slices.ContainsFunc(p.Status.Conditions, func(c v1.PodCondition) bool {
			return c.Type == v1.PodReady && c.Status == v1.ConditionTrue
		}) {
			return
		}
	}
	t.Fatalf("%s does not run", name)
}

// inOrder fails unless these texts are in the reports, one after the other.
func (h *collector) inOrder(want ...string) {
	h.t.Helper()
	next := 0
	for _, text := range h.past {
		if next < len(want) && strings.Contains(text, want[next]) {
			next++
		}
	}
	if next < len(want) {
		h.t.Errorf("%q was not published after %q:\n  %s", want[next], want[:next], strings.Join(h.past, "\n  "))
	}
}
