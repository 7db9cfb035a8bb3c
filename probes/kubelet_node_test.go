//go:build node

package probes

import (
	"os"
	"path/filepath"
	"testing"
)

// inlined are the steps that an unmodified kubelet has no function for: its compiler puts these into the functions
// around them. Of a function that does nothing, nothing is left.
var inlined = map[string]bool{
	"merge.updatePodsFunc": true, "worker.turn": true,
	"boot.flexvolume": true, "boot.os": true, "source.config": true, "source.updates": true,
	"rt.result": true, "resize.allowed": true,
}

// TestKubelets compares the catalogue with kubelets as they were built: the woven one has every step, the
// unmodified one all but the inlined.
func TestKubelets(t *testing.T) {
	bin := os.Getenv("PODSTEP_BIN")
	if bin == "" {
		t.Fatal("PODSTEP_BIN is not set: run these tests with make test-node")
	}
	for name, missing := range map[string]map[string]bool{"podstep-kubelet": nil, "kubelet": inlined} {
		b, err := ReadBinary(filepath.Join(bin, name))
		if err != nil {
			t.Fatal(err)
		}
		c := MustLoad()
		for i := range c.Steps {
			s := &c.Steps[i]
			if s.Outside() {
				continue
			}
			if ok, why := b.Has(s); ok == missing[s.Name] {
				t.Errorf("%s: step %s is there: %v (%s), want %v", name, s.Name, ok, why, !missing[s.Name])
			}
		}
	}
}
