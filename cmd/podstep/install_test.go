//go:build install

package main

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// TestGoInstall installs podstep as a person does who has Go and nothing else: by `go install
// ...@VERSION` in a new home, from a module proxy. The proxy is made of files: this module,
// zipped as a proxy zips it, and the module cache of this machine.
func TestGoInstall(t *testing.T) {
	version := module.Version{Path: "github.com/podstep/podstep", Version: "v0.99.0"}
	proxy, home := t.TempDir(), t.TempDir()
	publish(t, proxy, version)
	cache := strings.TrimSpace(output(t, exec.Command("go", "env", "GOMODCACHE")))

	cmd := exec.Command("go", "install", "-trimpath", "-modcacherw", version.Path+"/cmd/podstep@"+version.Version)
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "HOME="+home, "GOPATH="+filepath.Join(home, "go"), "GOBIN="+filepath.Join(home, "bin"), "GOMODCACHE="+filepath.Join(home, "mod"),
		"GOPROXY=file://"+proxy+",file://"+filepath.Join(cache, "cache", "download"), "GOSUMDB=off", "GOFLAGS=", "GOWORK=off", "GOCACHE="+strings.TrimSpace(output(t, exec.Command("go", "env", "GOCACHE"))))
	output(t, cmd)

	program := filepath.Join(home, "bin", "podstep")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	if got := output(t, exec.Command(program, "version")); !strings.Contains(got, version.Version) {
		t.Errorf("podstep version prints %q, without %s", got, version.Version)
	}
	// There is no lab beside it: the error names how to get one.
	lab := exec.Command(program, "lab", "--dir", filepath.Join(home, "lab"))
	lab.Env = append(os.Environ(), "PATH="+home)
	if out, err := lab.CombinedOutput(); err == nil || !strings.Contains(string(out), "make build") {
		t.Errorf("podstep lab without podstep-lab: %v: %s", err, out)
	}
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("podstep has %d MB", info.Size()/1e6)
}

// publish puts the module of this repository into a directory, as a module proxy serves it.
func publish(t *testing.T, proxy string, version module.Version) {
	t.Helper()
	root := strings.TrimSpace(output(t, exec.Command("git", "rev-parse", "--show-toplevel")))
	dir := filepath.Join(proxy, version.Path, "@v")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(mod, []byte("replace")) {
		t.Error("go.mod has a replace line: go install refuses it")
	}
	var zipped bytes.Buffer
	if err := zip.Create(&zipped, version, filesOf(t, root)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"list":                    []byte(version.Version + "\n"),
		version.Version + ".mod":  mod,
		version.Version + ".zip":  zipped.Bytes(),
		version.Version + ".info": []byte(`{"Version":"` + version.Version + `","Time":"2026-01-02T03:04:05Z"}`),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// filesOf returns the files of the root module that git has. The lab and the release tool are modules of their own.
func filesOf(t *testing.T, root string) (files []zip.File) {
	t.Helper()
	list := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard")
	list.Dir = root
	for _, name := range strings.Split(strings.TrimSpace(output(t, list)), "\n") {
		_, err := os.Lstat(filepath.Join(root, name))
		if err == nil && !strings.HasPrefix(name, "lab/") && !strings.HasPrefix(name, "release/") {
			files = append(files, file{root, name})
		}
	}
	return files
}

// file is a file of the repository, for the zip.
type file struct{ root, name string }

func (f file) Path() string                 { return f.name }
func (f file) Lstat() (fs.FileInfo, error)  { return os.Lstat(filepath.Join(f.root, f.name)) }
func (f file) Open() (io.ReadCloser, error) { return os.Open(filepath.Join(f.root, f.name)) }

func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, stderr.String())
	}
	return string(out)
}
