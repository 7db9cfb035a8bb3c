package whatif

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/trace"
	"github.com/podstep/podstep/agent/whatif"
)

// Every plan of every recording of this repository is made anew, and is the recorded one.
func TestRecordings(t *testing.T) {
	var plans, without int
	seen := map[string]int{}
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".podstep") {
			return err
		}
		r, err := trace.Open(path)
		if err != nil {
			return err
		}
		defer r.Close()
		err = whatif.Each(r.Header().Info, r, nil, func(f *whatif.Found) {
			if f.Inputs == nil {
				without++
				return
			}
			plans++
			same(t, path, f, seen)
		})
		var fault *trace.Fault
		if errors.As(err, &fault) {
			return nil // files that are damaged on purpose
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d plans, and %d without inputs; %v", plans, without, seen)
	for _, kind := range []string{"killPod", "createSandbox", "initContainersToStart", "containersToStart", "containersToKill", "containersToResize"} {
		if seen[kind] == 0 {
			t.Errorf("no recording has a plan with %s", kind)
		}
	}
}

// same makes a plan anew, compares it with the recorded one, and counts in seen what is in it.
func same(t *testing.T, path string, f *whatif.Found, seen map[string]int) {
	t.Helper()
	p, err := NewPlanner(f.Inputs)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := p.Plan(f.Inputs)
	if err != nil {
		t.Errorf("%s: %s, sync %d: %v", path, f.Pod.Name, f.Sync, err)
		return
	}
	differs, compared := plan.Differs(f.Plan)
	if !compared || len(differs) > 0 {
		t.Errorf("%s: %s, sync %d: compared %v, %v", path, f.Pod.Name, f.Sync, compared, differs)
	}
	for name, v := range f.Plan {
		switch v {
		case false, int64(0), "[]":
		default:
			seen[name]++
		}
	}
}
