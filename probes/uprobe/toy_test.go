//go:build linux

package uprobe

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/podstep/podstep/probes/pclntab"
)

// toyDir is the directory of the toy that is built.
var toyDir string

func TestMain(m *testing.M) {
	code := m.Run()
	if toyDir != "" {
		os.RemoveAll(toyDir)
	}
	os.Exit(code)
}

// The program of testdata/toy, stripped, built once in each way.
var (
	buildToy = sync.OnceValues(func() (string, error) { return buildToyAs("exe", runtime.GOARCH) })
	buildPIE = sync.OnceValues(func() (string, error) { return buildToyAs("pie", runtime.GOARCH) })
	buildFor = map[string]func() (string, error){
		"amd64": sync.OnceValues(func() (string, error) { return buildToyAs("exe", "amd64") }),
		"arm64": sync.OnceValues(func() (string, error) { return buildToyAs("exe", "arm64") }),
	}
)

func buildToyAs(mode, arch string) (path string, err error) {
	if toyDir == "" {
		if toyDir, err = os.MkdirTemp("", "podstep-toy"); err != nil {
			return "", err
		}
	}
	path = filepath.Join(toyDir, "kubelet-"+mode+"-"+arch)
	cmd := exec.Command("go", "build", "-buildvcs=false", "-buildmode="+mode, "-ldflags=-s -w", "-o", path, "./cmd/kubelet")
	cmd.Dir = "testdata/toy"
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "CGO_ENABLED=0", "GOARCH="+arch)
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", &toyError{err, string(text)}
	}
	return path, nil
}

type toyError struct {
	error
	text string
}

func (e *toyError) Error() string { return "go build: " + e.error.Error() + "\n" + e.text }

// toy returns the toy's program.
func toy(t testing.TB) *program {
	t.Helper()
	return toyOf(t, buildToy)
}

// toyFor returns the toy's program for an architecture, which need not be this machine's.
func toyFor(t testing.TB, arch string) *program {
	t.Helper()
	return toyOf(t, buildFor[arch])
}

func toyOf(t testing.TB, build func() (string, error)) *program {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return openToy(t, path)
}

func openToy(t testing.TB, path string) *program {
	t.Helper()
	p, err := openProgram(path)
	if err != nil {
		t.Fatal(err)
	}
	if p.GoVersion != runtime.Version() || p.Arch != p.code.Arch() || !p.Stripped {
		t.Fatalf("the toy is of %s for %s, stripped %v", p.GoVersion, p.Arch, p.Stripped)
	}
	return p
}

const toyPackage = "k8s.io/kubernetes/pkg/kubelet."

// toyFunction returns one of the toy's functions.
func toyFunction(t *testing.T, p *program, name string) *pclntab.Func {
	t.Helper()
	f, ok := p.functions.ByName(toyPackage + name)
	if !ok {
		t.Fatalf("the toy has no %s", name)
	}
	return f
}
