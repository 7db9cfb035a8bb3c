//go:build critest

// Package critest runs the CRI's own validation against the simulated runtime, directly and through podstep attach:
//
//	cd lab && go test -tags critest -v ./simcri/critest
package critest

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/podstep/podstep/lab/simcri"
)

// criTools is the module that is run: cri-tools of the kubelet's minor version.
const criTools = "sigs.k8s.io/cri-tools@v1.36.0"

//go:embed skip.yaml
var skipFile []byte

//go:embed scenario.yaml
var scenarioFile []byte

// skipped is a test that does not apply, or cannot pass, with the reason.
type skipped struct {
	Test, Why string
	// SomeMachines is true for tests that critest has only on some kinds of machines.
	SomeMachines bool `yaml:"someMachines"`
}

func skips(t *testing.T) []skipped {
	t.Helper()
	var all []skipped
	d := yaml.NewDecoder(bytes.NewReader(skipFile))
	d.KnownFields(true)
	if err := d.Decode(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

// build compiles critest from its module, with the module's own dependencies. The program has a kubelet's name, so podstep
// looks at its calls as at those of a kubelet.
func build(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "mod", "download", "-json", criTools).Output()
	var module struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &module); err != nil || jsonErr != nil || module.Dir == "" {
		t.Fatalf("download %s: %v %s", criTools, err, module.Error)
	}
	program := filepath.Join(t.TempDir(), "kubelet")
	cmd := exec.Command("go", "-C", module.Dir, "test", "-c", "-o", program, "./cmd/critest")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build critest: %v\n%s", err, out)
	}
	return program
}

// serve runs a runtime and returns its socket.
func serve(t *testing.T) string {
	t.Helper()
	scenario, err := simcri.ParseScenario(scenarioFile)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	socket := filepath.Join(dir, "cri.sock")
	server, err := simcri.Listen(simcri.Options{Socket: socket, Root: dir, Scenario: scenario})
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.Serve(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		serving.Wait()
	})
	return socket
}

// spec is one test of critest's report.
type spec struct {
	ContainerHierarchyTexts []string
	LeafNodeText            string
	State                   string
	Failure                 struct{ Message string }
}

func (s spec) name() string {
	return strings.Join(append(s.ContainerHierarchyTexts, s.LeafNodeText), " ")
}

func (s spec) failed() bool { return s.State != "passed" && s.State != "skipped" }

// validate runs critest against the runtime at a socket, and returns its report.
func validate(t *testing.T, program, socket string) []spec {
	t.Helper()
	report := filepath.Join(t.TempDir(), "report.json")
	endpoint := "unix://" + socket
	args := []string{"-runtime-endpoint=" + endpoint, "-image-endpoint=" + endpoint, "-ginkgo.json-report=" + report, "-ginkgo.no-color", "-ginkgo.seed=1"}
	for _, s := range skips(t) {
		args = append(args, "-ginkgo.skip="+regexp.QuoteMeta(s.Test))
	}
	cmd := exec.Command(program, args...)
	cmd.Dir = t.TempDir()
	log, runErr := cmd.CombinedOutput()
	data, err := os.ReadFile(report)
	if err != nil {
		t.Fatalf("critest wrote no report: %v\n%s", runErr, log)
	}
	var suites []struct{ SpecReports []spec }
	if err := json.Unmarshal(data, &suites); err != nil || len(suites) != 1 {
		t.Fatalf("read the report: %v", err)
	}
	all := suites[0].SpecReports
	if runErr != nil && !slices.ContainsFunc(all, spec.failed) {
		t.Errorf("critest: %v\n%s", runErr, log)
	}
	return slices.DeleteFunc(all, func(s spec) bool { return s.LeafNodeText == "" || strings.Contains(s.name(), "benchmark") })
}

// TestConformance: the simulated runtime passes the validation, and gets the same results through a podstep that is
// attached.
func TestConformance(t *testing.T) {
	program := build(t)
	direct := validate(t, program, serve(t))
	judge(t, direct)
	t.Run("through podstep", func(t *testing.T) { compare(t, direct, throughPodstep(t, program)) })
}

// judge fails the test for each test of critest that fails.
func judge(t *testing.T, all []spec) {
	count := map[string]int{}
	var ofItself []string
	for _, s := range all {
		count[s.State]++
		switch {
		case s.State == "skipped" && s.Failure.Message != "":
			ofItself = append(ofItself, s.name()+": "+s.Failure.Message)
		case s.failed():
			t.Errorf("%s: %s\n%s", s.State, s.name(), s.Failure.Message)
		}
	}
	checkSkips(t, all)
	t.Logf("passed %d, skipped %d, of these %d by critest itself:\n%s", count["passed"], count["skipped"], len(ofItself), strings.Join(ofItself, "\n"))
}

// checkSkips fails the test for entries of the list whose names no test has.
func checkSkips(t *testing.T, all []spec) {
	for _, s := range skips(t) {
		used := s.SomeMachines
		for _, spec := range all {
			used = used || strings.Contains(spec.name(), s.Test)
		}
		if !used || s.Why == "" {
			t.Errorf("the entry %q skips nothing, or gives no reason", s.Test)
		}
	}
}
