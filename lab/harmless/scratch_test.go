//go:build harmless

package harmless

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const (
	kubernetes = "k8s.io/kubernetes"
	criClient  = "k8s.io/cri-client"
	podstep    = "github.com/podstep/podstep"
)

// scratch is a copy of the kubelet's module, in which its packages can be tested and a file can be added to each. Our
// own module cannot test them: it lacks the packages that only the tests import.
type scratch struct {
	root string // podstep's own module
	lab  string // the lab's module, which requires Kubernetes
	work string // the directory of all copies
	dir  string // the copy of k8s.io/kubernetes
	// version is the version of Kubernetes. It is empty for the catalogue's own.
	version string
}

// Version names the environment variable that selects another version of Kubernetes than the catalogue's, such as v1.35.4.
const Version = "PODSTEP_HARMLESS"

// needed are the folders of k8s.io/kubernetes that the kubelet's tests import or read. The staging folder is not
// among them: the released modules take its place.
var needed = []string{"api", "cmd", "pkg", "plugin", "test", "third_party", "go.mod", "go.sum"}

// newScratch makes the copies. They are in the same place each time, since the go command looks at the place when it
// decides whether a package has been built.
func newScratch(t *testing.T) *scratch {
	t.Helper()
	root, err := filepath.Abs("../..")
	must(t, err)
	cache, err := os.UserCacheDir()
	must(t, err)
	s := &scratch{root: root, lab: filepath.Join(root, "lab"), work: filepath.Join(cache, "podstep-harmless"), version: os.Getenv(Version)}
	s.dir = filepath.Join(s.work, "kubernetes")
	must(t, os.RemoveAll(s.work))
	t.Cleanup(func() { os.RemoveAll(s.work) })
	var k8s, cri module
	if s.version == "" {
		k8s, cri = s.download(t, kubernetes), s.download(t, criClient)
	} else {
		k8s, cri = s.release(t, kubernetes, s.version), s.release(t, criClient, staged(s.version))
	}
	for _, name := range needed {
		copyTree(t, filepath.Join(k8s.Dir, name), filepath.Join(s.dir, name))
	}
	copyTree(t, cri.Dir, filepath.Join(s.work, "cri-client"))
	s.editModule(t, k8s.Version)
	return s
}

// module is what the go command reports of a module.
type module struct{ Dir, Version string }

// download gets a module in the version with which we build.
func (s *scratch) download(t *testing.T, path string) (m module) {
	t.Helper()
	s.goCommand(t, s.lab, "mod", "download", path)
	must(t, json.Unmarshal(s.goCommand(t, s.lab, "list", "-m", "-json", path), &m))
	return m
}

// release gets a module in another version.
func (s *scratch) release(t *testing.T, path, version string) (m module) {
	t.Helper()
	must(t, json.Unmarshal(s.goCommand(t, s.lab, "mod", "download", "-json", path+"@"+version), &m))
	return m
}

// copyTree copies a folder or a file, and makes the copy writable: the module cache is read-only.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	info, err := os.Stat(from)
	must(t, err)
	if info.IsDir() {
		must(t, os.CopyFS(to, os.DirFS(from)))
		return
	}
	b, err := os.ReadFile(from)
	must(t, err)
	must(t, os.MkdirAll(filepath.Dir(to), 0o755))
	must(t, os.WriteFile(to, b, 0o644))
}

// editModule makes the copy independent: it takes released modules instead of the staging folders, and requires
// podstep.
func (s *scratch) editModule(t *testing.T, version string) {
	t.Helper()
	var mod struct {
		Replace []struct {
			Old, New struct{ Path string }
		}
	}
	must(t, json.Unmarshal(s.goCommand(t, s.dir, "mod", "edit", "-json"), &mod))
	edit := []string{"mod", "edit",
		"-require=" + podstep + "@v0.0.0", "-replace=" + podstep + "=" + s.root}
	for _, r := range mod.Replace {
		if strings.HasPrefix(r.New.Path, "./staging/") && r.Old.Path != criClient {
			edit = append(edit, "-replace="+r.Old.Path+"="+r.Old.Path+"@"+staged(version))
		}
	}
	// The copy of this module is used, since a file is added to it too.
	edit = append(edit, "-replace="+criClient+"=../cri-client")
	s.goCommand(t, s.dir, edit...)
	s.addSums(t)
}

// staged returns the version of the modules that were released with a version of Kubernetes: v1.36.3 has v0.36.3.
func staged(version string) string { return "v0." + strings.TrimPrefix(version, "v1.") }

// addSums adds our own sums to those of Kubernetes: ours have the released modules and podstep's dependencies.
func (s *scratch) addSums(t *testing.T) {
	t.Helper()
	own, err := os.ReadFile(filepath.Join(s.lab, "go.sum"))
	must(t, err)
	f, err := os.OpenFile(filepath.Join(s.dir, "go.sum"), os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.Write(own)
	must(t, err)
	must(t, f.Close())
}

// addHooks adds a file to each package that has tests, and returns those packages. The file starts the agent when the
// tests run. It has a build tag, so the plain run is without podstep. It is in the external test package, which is
// initialised after the tested package.
func (s *scratch) addHooks(t *testing.T, packages []string) (tested []string) {
	t.Helper()
	args := append([]string{"list", "-f", "{{.ImportPath}} {{.Name}} {{len .TestGoFiles}} {{.Dir}}"}, packages...)
	for _, line := range strings.Split(strings.TrimSpace(string(s.goCommand(t, s.dir, args...))), "\n") {
		words := strings.SplitN(line, " ", 4)
		if path, name, tests, dir := words[0], words[1], words[2], words[3]; tests != "0" {
			must(t, os.WriteFile(filepath.Join(dir, "podstep_hooks_test.go"), hooksFile(path, name), 0o644))
			tested = append(tested, path)
		}
	}
	return tested
}

func hooksFile(path, name string) []byte {
	return fmt.Appendf(nil, `//go:build harmless

package %s_test

import (
	podstepAttach "%s/agent/host/hosttest"
	_ "%s"
)

func init() { podstepAttach.Start(%q) }
`, name, podstep, path, path)
}

// goCommand runs the go command and returns what it prints.
func (s *scratch) goCommand(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env, cmd.Stderr = dir, s.env(), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// env returns the environment of all commands. The go command may change the copy's module file, and adds the missing
// sums.
func (s *scratch) env(more ...string) []string {
	return append(append(os.Environ(), "GOFLAGS=-mod=mod -buildvcs=false", "GOWORK=off"), more...)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
