package memory

import (
	"testing"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/memory"
)

// TestQuiet: a condition that a probe can decide has names for what the probe reads, and the
// values of constants. A condition that it cannot decide has a reason.
func TestQuiet(t *testing.T) {
	table, err := memory.For(probes.KubernetesVersion)
	if err != nil {
		t.Fatal(err)
	}
	for step, want := range map[string]string{
		"merge.check":  "!v0 && !v1 && !v2",
		"merge.filter": "v0 == v1",
		"pm.mirror":    "v0",
		"admit.resize": `v0 != "resize"`,
		"probe.do":     "v0 && v1 != 1 && !(v2 == 1 && v1 == v3) && !(v2 == 0 && v1 == v4)",
	} {
		if v, _ := table.Value(step, memory.Quiet, memory.When); v.Words != want {
			t.Errorf("%s is quiet when %q, want %q", step, v.Words, want)
		}
	}
	if v, _ := table.Value("admit.cpu", memory.Quiet, memory.When); v.None != memory.Calls {
		t.Errorf("admit.cpu: %+v, want none for %s", v, memory.Calls)
	}
}

// TestSymbols: a literal has the number that the compiler gives it.
func TestSymbols(t *testing.T) {
	table, err := memory.For(probes.KubernetesVersion)
	if err != nil {
		t.Fatal(err)
	}
	for step, want := range map[string][2]string{
		"rt.start":    {"start", ".func2 +237"},
		"worker.kill": {"return", ".func1 +1"},
	} {
		if v, ok := table.Value(step, memory.Symbol, want[0]); !ok || v.Words != want[1] {
			t.Errorf("%s is %+v, want %s", step, v, want[1])
		}
	}
}
