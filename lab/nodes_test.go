package lab

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestNodesApart: no two nodes of a lab share a place or the name of a part, and the first one has its places where a lab
// of one node has them.
func TestNodesApart(t *testing.T) {
	nodes := nodesIn(paths{dir: "/lab"}, maxNodes)
	if len(nodes) != maxNodes || nodes[0].paths.agent() != "/lab/agent.sock" || nodes[0].part("kubelet") != "kubelet" {
		t.Fatalf("the first of %d nodes is %+v", len(nodes), nodes[0])
	}
	whose := map[string]string{}
	for _, n := range nodes {
		for _, place := range []string{
			n.paths.agent(), n.paths.simSocket(), n.paths.kubelet(), n.paths.manifests(), n.paths.config("kubelet.yaml"), n.paths.pressure(),
			n.paths.node("cgroup"), n.paths.podLogs(), n.paths.containerLogs(), n.part("kubelet"), n.part("simcri"), n.part("kubelet-server"),
		} {
			if other, is := whose[place]; is {
				t.Errorf("%s and %s share %s", other, n.name, place)
			}
			whose[place] = n.name
		}
		if filepath.Dir(n.paths.agent()) != "/lab" {
			t.Errorf("the agent of %s is at %s, not beside the kubeconfig", n.name, n.paths.agent())
		}
		if kindOf(n.part("kubelet")) != "kubelet" || kindOf(n.part("simcri")) != "simcri" || kindOf("kube-apiserver") != "kube-apiserver" {
			t.Errorf("the parts of %s are not known for what they are", n.name)
		}
	}
}

// TestLongNode: a directory that is short enough for the first node may be too long for the others.
func TestLongNode(t *testing.T) {
	dir := "/" + strings.Repeat("x", maxDir-1)
	if err := fits(dir); err != nil {
		t.Error(err)
	}
	if err := nodesIn(paths{dir: dir}, 2)[1].makeDirs(); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("the second node in a directory with a long name: %v", err)
	}
}
