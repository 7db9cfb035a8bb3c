package kubelets

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// fakeKubelet is a program that has the build information of a kubelet, and waits until its standard input ends.
var fakeKubelet = map[string]string{
	"go.mod": "module k8s.io/kubernetes\n\ngo 1.25\n",
	"cmd/kubelet/main.go": `package main

import (
	"fmt"
	"io"
	"os"
)

var gitVersion = "v0.0.0-master"

func main() {
	if gitVersion != "" {
		fmt.Println("connected")
	}
	io.Copy(io.Discard, os.Stdin)
}
`,
}

func buildFake(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range fakeKubelet {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "program")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-ldflags=-s -w -X main.gitVersion=v1.31.4", "-o", out, "./cmd/kubelet")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
	return out
}

// TestProgram: where a program's name leaves doubts, its build information shows that it is a kubelet. Its version
// is known without running it.
func TestProgram(t *testing.T) {
	program := buildFake(t)
	for name, is := range map[string]bool{"kubelet": true, "kubelet-v1.31.4": true, "renamed": false} {
		pid := startProgram(t, program, name, nil)
		if Is(pid) != is {
			t.Errorf("a kubelet that is called %s is one: %v", name, !is)
		}
		// A person who names it is believed, whatever its name.
		k, err := ByPID(t.Context(), pid, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if k.Doubt != "" || k.Version != "v1.31.4" || k.Woven || filepath.Base(k.Program) != name {
			t.Errorf("%s is %+v", name, k)
		}
	}
}
