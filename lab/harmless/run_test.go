//go:build harmless

package harmless

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/host/hosttest"
)

// way is one of the two ways to build and run the tests.
type way struct {
	scratch *scratch
	name    string
	command []string // to be followed by packages
	env     []string
}

// perPackage is the time limit for one package's tests: the slowest take some minutes.
const perPackage = "-timeout=15m"

// testFlags are the same plain and woven. go vet is left out: it reads the source, which weaving does not change.
var testFlags = []string{"-json", "-count=1", "-vet=off", perPackage}

func (s *scratch) plain() way {
	return way{scratch: s, name: "plain", command: append([]string{"go", "test"}, testFlags...)}
}

// woven builds the weaver now, so that the current one is tested.
func (s *scratch) woven(t *testing.T) (w way, counts string) {
	t.Helper()
	weaver, counts := filepath.Join(s.work, "podstep-weave"), filepath.Join(s.work, "counts")
	s.goCommand(t, s.root, "build", "-o", weaver, "./cmd/podstep-weave")
	must(t, os.MkdirAll(counts, 0o755))
	return way{
		scratch: s, name: "woven",
		command: append(s.weaving(weaver), append([]string{"test", "-tags=harmless"}, testFlags...)...),
		env:     []string{hosttest.Env + "=" + counts},
	}, counts
}

// weaving returns the command that weaves into a build of the version.
func (s *scratch) weaving(weaver string) []string {
	if s.version == "" {
		return []string{weaver, "go"}
	}
	return []string{weaver, "go", "--kubernetes", s.version}
}

// run runs tests of packages: all tests, or those that the pattern matches.
func (w way) run(t *testing.T, packages []string, pattern string) results {
	t.Helper()
	args := append([]string{}, w.command[1:]...)
	if pattern != "" {
		args = append(args, "-run", pattern)
	}
	cmd := exec.Command(w.command[0], append(args, packages...)...)
	cmd.Dir, cmd.Env, cmd.Stderr = w.scratch.dir, w.scratch.env(w.env...), os.Stderr
	out, err := cmd.StdoutPipe()
	must(t, err)
	start := time.Now()
	must(t, cmd.Start())
	res, err := w.follow(out)
	// The exit code only says that some test failed. The results say which.
	_ = cmd.Wait()
	must(t, err)
	t.Logf("%s: %d packages %sin %s", w.name, len(packages), pattern+" ", time.Since(start).Round(time.Second))
	w.checkBuilt(t, res, packages)
	return res
}

// follow reads the results, and prints when a package is done: the first is slow to come.
func (w way) follow(out io.Reader) (results, error) {
	res := results{}
	in := bufio.NewReader(out)
	for {
		line, err := in.ReadBytes('\n')
		if e, ok := res.addLine(line); ok && e.done() {
			fmt.Printf("    %s: %s %s %.1fs\n", w.name, e.Action, e.Package, e.Elapsed)
		}
		if err == io.EOF {
			return res, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read results: %w", err)
		}
	}
}

// checkBuilt ends the test if a package has no results of tests: then it was not built, or its test program did not
// start.
func (w way) checkBuilt(t *testing.T, res results, packages []string) {
	t.Helper()
	for _, p := range packages {
		if res.count(p).tests == 0 {
			t.Fatalf("%s: no test of %s ran:\n%s", w.name, p, tail(res.output(p, ""), 60))
		}
	}
}

// tail returns the last lines of a text.
func tail(text string, lines int) string {
	all := strings.SplitAfter(text, "\n")
	return strings.Join(all[max(0, len(all)-lines):], "")
}
