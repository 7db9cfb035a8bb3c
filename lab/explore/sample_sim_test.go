//go:build sim

package explore

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/podstep/podstep/agent/labtest"
)

// TestSample breaks a sample of all calls. None leads to a finding that is certain and wrong, which would end the program
// with an error, and most that leave a pod stuck are named first. The run goes on where it was.
func TestSample(t *testing.T) {
	dir := t.TempDir()
	results := filepath.Join(dir, "results")
	run := func(which ...string) []Result {
		t.Helper()
		// The path of the lab must be short.
		lab, err := os.MkdirTemp("", "explore")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(lab)
		args := []string{"explore", "--dir", lab, "--results", results, "--recordings", filepath.Join(dir, "kept"), "--patience", "1s", "--after", "20s", "--page", filepath.Join(dir, "page.md")}
		cmd := exec.CommandContext(t.Context(), labtest.Bin(t, "podstep-lab"), append(args, which...)...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Run(); err != nil {
			t.Fatalf("explore: %v\n%s", err, out.String())
		}
		t.Logf("%s", out.String())
		all, err := Read(results)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	all := run("--sample", "24")
	sum := Sum(all, nil)
	if sum.Tried < 20 || sum.Stuck == 0 || sum.Fine == 0 {
		t.Errorf("too few are tried: %s", sum)
	}
	if 2*sum.Right < sum.Stuck { // a few of a small sample are what docs/explored.md lists as gaps
		t.Errorf("too few are named first: %s", sum)
	}
	page, err := os.ReadFile(filepath.Join(dir, "page.md"))
	if err != nil || !strings.Contains(string(page), "## Totals") {
		t.Errorf("the page: %v", err)
	}
	if more := run("--only", "create/cri StartContainer app #1/Unknown"); len(more) <= len(all) {
		t.Errorf("the second run adds nothing to %d results", len(all))
	}
}
