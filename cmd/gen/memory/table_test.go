package memory

import (
	"os"
	"strings"
	"testing"

	"github.com/podstep/podstep/cmd/gen/kubelet"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/memory"
)

// TestUpToDate makes the table of this module's kubelet anew.
func TestUpToDate(t *testing.T) {
	t.Chdir("../../..")
	version, table, err := generate(kubelet.Module)
	if err != nil {
		t.Fatal(err)
	}
	if version != probes.KubernetesVersion {
		t.Errorf("the module's kubelet is %s, the catalogue's %s", version, probes.KubernetesVersion)
	}
	old, err := os.ReadFile("probes/memory/" + minor.FindString(version) + ".tsv")
	if err != nil {
		t.Fatal(err)
	}
	if string(old) == table {
		return
	}
	was := strings.Split(string(old), "\n")
	for i, line := range strings.Split(table, "\n") {
		if i >= len(was) || was[i] != line {
			t.Fatalf("line %d is out of date; run go generate ./probes/memory\nis  %s", i+1, line)
		}
	}
	t.Error("the table has lines too many; run go generate ./probes/memory")
}

// TestTablesAreOfThisCatalogue: a table of another version is made where that version's source
// is. This test sees that it is out of date.
func TestTablesAreOfThisCatalogue(t *testing.T) {
	for _, m := range memory.Minors() {
		table, err := memory.For(m)
		if err != nil {
			t.Fatal(err)
		}
		if want := sum(probes.MustLoad()); table.Catalogue != want {
			t.Errorf("the table of %s is of another catalogue; run scripts/memory.sh %s", table.Version, table.Version)
		}
		v, ok := table.Value("loop.add", memory.Pod, memory.Name)
		if want := (memory.Hop{Type: "v1.Pod", Members: "ObjectMeta.Name", Offset: 32}); !ok || v.Form == nil || len(v.Form.Hops) != 1 || v.Form.Hops[0] != want {
			t.Errorf("%s: the name of a pod in a list is %+v", table.Version, v.Form)
		}
	}
}

// TestAllHaveForms: each field of the catalogue, and each pod, has a form or a reason why it
// has none. Each kind of form is used by some value.
func TestAllHaveForms(t *testing.T) {
	c := probes.MustLoad()
	table, err := memory.For(probes.KubernetesVersion)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	want := func(step *probes.Step, side memory.Side, name string) {
		n++
		if _, ok := table.Value(step.Name, side, name); !ok {
			t.Errorf("%s %s %s is not in the table", step.Name, side, name)
		}
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		for _, f := range s.Fields {
			want(s, memory.Enter, f.Name)
		}
		for _, f := range s.Results {
			want(s, memory.Exit, f.Name)
		}
		if s.Outside() {
			continue
		}
		for _, name := range podValues(s) {
			want(s, memory.Pod, name)
		}
	}
	kinds, forms := map[memory.Kind]bool{}, 0
	table.All(func(step string, side memory.Side, name string, v memory.Value) {
		switch side {
		case memory.Pod, memory.Enter, memory.Exit:
			n--
		}
		if v.None == memory.Missing {
			t.Errorf("the catalogue's own kubelet does not have %s %s %s", step, side, name)
		}
		if v.Form != nil {
			forms++
			kinds[v.Form.Kind] = true
		}
	})
	if n != 0 {
		t.Errorf("the table has %d values too many", -n)
	}
	for _, k := range numbers {
		kinds[k] = true // the kubelet's types may have this kind or not
	}
	for _, k := range []memory.Kind{memory.Duration, memory.Time, memory.IsNil, memory.NotNil, memory.Interface, memory.Pointers, memory.Interfaces} {
		if !kinds[k] {
			t.Errorf("no value is of the kind %q", k)
		}
	}
	t.Logf("%d values have a form", forms)
}

// podValues returns the names under which a step's pod is in the table.
func podValues(s *probes.Step) (names []string) {
	if s.Pod.Memory == probes.MemoryInherits {
		return []string{memory.UID}
	}
	switch s.Pod.Kind {
	case probes.PodUID:
		return []string{memory.UID}
	case probes.PodCRIID:
		return []string{memory.ID}
	case probes.PodList, probes.PodObjects:
		return append(names, memory.List, memory.UID, memory.Namespace, memory.Name, memory.Version)
	case probes.PodUpdates:
		for _, u := range s.Pod.Updates {
			names = append(names, u.Op)
		}
		return append(names, memory.UID, memory.Namespace, memory.Name, memory.Version)
	case probes.PodObject, probes.PodSandboxConfig:
		return []string{memory.UID, memory.Namespace, memory.Name}
	}
	return nil
}
