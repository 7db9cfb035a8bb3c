//go:build linux

package uprobe

import (
	"testing"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/memory"
)

// TestLocking: the functions that take a lock are known without a list only in a kubelet of the very version that
// people have read. Vendors' kubelets, and other releases of that minor version, get the list.
func TestLocking(t *testing.T) {
	table, err := memory.For(probes.KubernetesVersion)
	if err != nil {
		t.Fatal(err)
	}
	for version, list := range map[string]bool{
		probes.KubernetesVersion: false, probes.KubernetesVersion + "-eks-3025e55": true, probes.KubernetesVersion + "+f0dc2d2": true,
		probes.KubernetesVersion + "-dirty": true, "v1.36.0": true, "v1.36.99": true, "": true,
	} {
		p := &Probe{table: table, version: version}
		if all := p.Locking(); len(all) > 0 != list {
			t.Errorf("a kubelet %q gets %d functions", version, len(all))
		}
	}
}
