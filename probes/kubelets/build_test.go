package kubelets

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// fakes are programs of Kubernetes' module that wait until their standard input ends: one has the build information of a kubelet,
// one a kubelet inside, and one none.
var fakes = map[string]string{
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
	"cmd/agent/main.go": `package main

import "k8s.io/kubernetes/pkg/kubelet"

var gitVersion = "v0.0.0-master"

func main() { new(kubelet.Kubelet).Run(gitVersion) }
`,
	"pkg/kubelet/kubelet.go": `package kubelet

import (
	"fmt"
	"io"
	"os"
)

type Kubelet struct{}

func (kl *Kubelet) Run(version string) {
	fmt.Println("connected")
	kl.syncLoop()
}

//go:noinline
func (kl *Kubelet) syncLoop() { io.Copy(io.Discard, os.Stdin) }
`,
	"cmd/tool/main.go": `package main

import (
	"fmt"
	"io"
	"os"
)

func main() {
	fmt.Println("connected")
	io.Copy(io.Discard, os.Stdin)
}
`,
}

func buildFake(t *testing.T, command string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range fakes {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "program")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-ldflags=-s -w -X main.gitVersion=v1.31.4", "-o", out, "./cmd/"+command)
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
	program := buildFake(t, "kubelet")
	for name, is := range map[string]bool{"kubelet": true, "kubelet-v1.31.4": true, "renamed": false} {
		pid := startProgram(t, program, name, nil)
		if Is(pid, "") != is {
			t.Errorf("a kubelet that is called %s is one: %v", name, !is)
		}
		if !Is(pid, "/usr/bin/"+name) || Is(pid, "/usr/bin/other") && !is {
			t.Errorf("%s is a kubelet after another one of that name: %v", name, !is)
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

// TestKubeletInside: a program with a kubelet inside, as of a distribution, is one if a person names it, or if its name does. A
// program of Kubernetes without one is none.
func TestKubeletInside(t *testing.T) {
	inside, without := buildFake(t, "agent"), buildFake(t, "tool")
	for name, is := range map[string]bool{"node-agent": false, "our-kubelet": true} {
		pid := startProgram(t, inside, name, nil)
		if Is(pid, "") != is || !Is(pid, name) {
			t.Errorf("%s is a kubelet: %v, after another of that name: %v", name, Is(pid, ""), Is(pid, name))
		}
		if k, err := ByPID(t.Context(), pid, Options{}); err != nil || k.Version != "v1.31.4" || filepath.Base(k.Program) != name {
			t.Errorf("%s is %+v, %v", name, k, err)
		}
	}
	for _, name := range []string{"node-tool", "not-kubelet"} {
		pid := startProgram(t, without, name, nil)
		if k, err := ByPID(t.Context(), pid, Options{}); err == nil || Is(pid, name) {
			t.Errorf("%s is %+v", name, k)
		}
	}
}
