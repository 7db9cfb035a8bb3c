//go:build node && linux

package uprobe

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/memory"
)

// TestTablesOfOtherMinors: whichever table a kubelet is looked into by, no value of it is read from where the kubelet has
// another, as if the kubelet had the version of the table. The pods are checked when they are read (verify.go).
func TestTablesOfOtherMinors(t *testing.T) {
	bin := os.Getenv("PODSTEP_BIN")
	if bin == "" {
		t.Fatal("PODSTEP_BIN is not set: run these tests with make test-node")
	}
	p, err := openProgram(filepath.Join(bin, "kubelet"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	c := probes.MustLoad()
	own, err := memory.For(probes.KubernetesVersion)
	if err != nil {
		t.Fatal(err)
	}
	for _, minor := range memory.Minors() {
		table, err := memory.For(minor + ".0")
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := table.Shape("sync.pod"); !ok {
			continue // TestShapes lists the tables that have none
		}
		proven, b := p.proven(c, table, table.Version)
		if same := table.Version == own.Version; same != (b.other == 0 && b.values == 0) {
			t.Errorf("%s: %d functions differ, and %d values are left out", table.Version, b.other, b.values)
		}
		read, seen := 0, map[string]bool{}
		for i := range c.Steps {
			codes, _ := find(&c.Steps[i], p, proven)
			seen[c.Steps[i].Name] = len(codes) > 0 && lost(&c.Steps[i], proven).IsZero()
		}
		proven.All(func(step string, side memory.Side, name string, v memory.Value) {
			if v.Form == nil || !seen[step] || side == memory.Pod {
				return
			}
			read++
			if is, ok := own.Value(step, side, name); ok && is.Form != nil && !samePlace(v.Form, is.Form) {
				t.Errorf("%s: %s %s of %s is read at %+v, and is at %+v", table.Version, side, name, step, *v.Form, *is.Form)
			}
		})
		t.Logf("%s: %d values are read, %d are left out, %d functions differ", table.Version, read, b.values, b.other)
	}
}

// samePlace reports whether two forms read the same bytes.
func samePlace(a, b *memory.Form) bool {
	return a.AMD64 == b.AMD64 && slices.EqualFunc(a.Hops, b.Hops, func(x, y memory.Hop) bool { return x.Offset == y.Offset })
}
