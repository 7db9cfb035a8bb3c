//go:build sim

package lab_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/lab"
)

// TestSimRelativePaths: paths on the command line are relative to the directory
// in which the lab was started, wherever its parts work.
func TestSimRelativePaths(t *testing.T) {
	dir := shortDir(t)
	parent, name := filepath.Split(dir)
	scenario := filepath.Join(parent, "scenario.yaml")
	if err := os.WriteFile(scenario, []byte("node: {latency: 0}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := command(t, dir)
	for i, arg := range cmd.Args {
		if arg == dir {
			cmd.Args[i] = name
		}
	}
	cmd.Args = append(cmd.Args, "--scenario", "scenario.yaml")
	cmd.Dir = parent
	state := untilReady(t, cmd, dir)
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	if state.Dir != real {
		t.Errorf("the lab is in %s, not in %s", state.Dir, real)
	}
	l := labtest.Of(t, state)
	partsWorkApart(t, l)
	if err := cmd.Process.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	if err := lab.Clean(dir); err != nil {
		t.Error(err)
	}
}
