//go:build linux

package uprobe

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const triedPlace = 7

// whole is what a kernel that does everything makes of podstep's own calls.
func whole() measurement {
	return measurement{hits: measuredHits, places: map[uint32]int{triedPlace: measuredHits}}
}

// TestFault: each fault of a kernel is found in what comes of podstep's own calls.
func TestFault(t *testing.T) {
	for _, x := range []struct {
		name   string
		change func(*measurement)
		thing  thing
	}{
		{"Linux 6.6, whose links are for one thread", func(m *measurement) { m.hits, m.places = 0, nil }, onEachThread},
		{"some hits are missing", func(m *measurement) { m.hits-- }, onEachThread},
		{"no ring", func(m *measurement) { m.places = nil }, recordsArrive},
		{"no cookies", func(m *measurement) { m.places = map[uint32]int{0: measuredHits} }, knowsPlace},
		{"a cookie of another place", func(m *measurement) { m.places[0] = 1 }, knowsPlace},
	} {
		m := whole()
		m.places = maps.Clone(m.places)
		x.change(&m)
		var l *lacking
		if err := m.fault(triedPlace); !errors.As(err, &l) || l.thing != x.thing {
			t.Errorf("%s: the fault is %v", x.name, err)
		}
	}
	// The ring may have no room for all.
	m := whole()
	m.places[triedPlace] = 10
	if err := m.fault(triedPlace); err != nil {
		t.Error(err)
	}
}

// TestOpenKernel: where one link to all places shows one thread, each place gets a link of its own; where nothing
// works, the error names both.
func TestOpenKernel(t *testing.T) {
	thread := &lacking{onEachThread, errors.New("0 of 1000")}
	refused := &lacking{takesProgram, errors.New("operation not permitted")}
	for _, x := range []struct {
		name          string
		forms         []bool
		multi, single error
		want          string
	}{
		{"all works", []bool{true, false}, nil, nil, "multi"},
		{"links are for one thread", []bool{true, false}, thread, nil, "single"},
		{"there are no such links", []bool{false}, nil, nil, "single"},
		{"nothing works", []bool{true, false}, thread, refused, "0 of 1000, operation not permitted"},
	} {
		k, err := openKernel(x.forms, func(multi bool) (*kernel, error) {
			if err := map[bool]error{true: x.multi, false: x.single}[multi]; err != nil {
				return nil, err
			}
			return &kernel{multi: multi}, nil
		})
		switch {
		case err != nil:
			for part := range strings.SplitSeq(x.want, ", ") {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s: %v", x.name, err)
				}
			}
		case k.multi != (x.want == "multi"):
			t.Errorf("%s: one link for all places: %v", x.name, k.multi)
		}
	}
}

// TestTable: the first thing that a kernel lacks has the reason, and those after it are missing too. docs/attach.md has the same table.
func TestTable(t *testing.T) {
	for i := range things {
		k := &Kernel{}
		fault := &lacking{thing(i), errors.New("pretended")}
		if thing(i) == oneLink {
			k.OneLink = fault
		} else {
			k.Program = fault
		}
		for j, row := range k.Table() {
			if missing := j >= i; row.Missing != missing {
				t.Errorf("the kernel lacks that it %s; that it %s is missing: %v", things[i].does.En, row.Thing.En, row.Missing)
			}
			if (row.Err != nil) != (i == j) {
				t.Errorf("the kernel lacks that it %s; the error of %q is %v", things[i].does.En, row.Thing.En, row.Err)
			}
		}
	}
	for _, row := range (&Kernel{}).Table() {
		if row.Missing || row.Err != nil {
			t.Errorf("a whole kernel lacks: %+v", row)
		}
	}
	text, err := os.ReadFile("../../docs/attach.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range things {
		if row := "| " + x.does.En + " | " + x.without.En + " |"; !strings.Contains(string(text), row) {
			t.Errorf("docs/attach.md lacks the row\n%s", row)
		}
	}
}

// TestSeccomp: a process with a filter is recognised by its status.
func TestSeccomp(t *testing.T) {
	root := t.TempDir()
	for pid, status := range map[int]string{
		1: "Name:\tkubelet\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n",
		2: "Name:\tkubelet\nSeccomp:\t0\nSeccomp_filters:\t0\n",
		3: "Name:\tkubelet\n",
	} {
		dir := filepath.Join(root, "proc", strconv.Itoa(pid))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "status"), []byte(status), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := Seccomp(root, pid); got != (pid == 1) {
			t.Errorf("process %d has a filter: %v", pid, got)
		}
	}
	if Seccomp(root, 4) {
		t.Error("a process that does not exist has a filter")
	}
}
