package probes

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// fakeKubelet is a program with the import paths of the kubelet. It has a function for each thing that the compiler
// may do to one.
var fakeKubelet = map[string]string{
	"go.mod": "module k8s.io/kubernetes\n\ngo 1.25\n",
	"cmd/kubelet/main.go": `package main

import (
	"k8s.io/kubernetes/pkg/kubelet"
	"k8s.io/kubernetes/version"
)

func main() { println(version.Get(), kubelet.Run(len(version.Get()))) }
`,
	"version/version.go": `package version

var gitVersion = "v0.0.0-master"

func Get() string { return gitVersion }
`,
	"pkg/kubelet/kubelet.go": `package kubelet

type Kubelet struct{ n int }

//go:noinline
func (kl *Kubelet) SyncPod() int { return kl.n + kl.small() }

// small is inlined everywhere, and no copy of it is left.
func (kl *Kubelet) small() int {
	kl.n++
	return withoutLiteral(kl.n) * 2
}

// killPodNow is inlined into Run: its literal bears the names of both.
func killPodNow(n int) func() int {
	return func() int { n++; return n }
}

//go:noinline
func withLiteral(n int) func() int {
	send := func() int { n += 2; return n }
	return send
}

//go:noinline
func withoutLiteral(n int) int { return n }

//go:noinline
func call(f func() int) int { return f() }

//go:noinline
func Run(n int) int {
	kl := &Kubelet{n}
	return kl.SyncPod() + call(killPodNow(n)) + call(withLiteral(n)) + withoutLiteral(n)
}
`,
}

func buildFake(t *testing.T, flags ...string) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("kubelets are ELF programs")
	}
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
	out := filepath.Join(dir, "kubelet")
	args := append([]string{"build", "-buildvcs=false", "-o", out}, flags...)
	cmd := exec.Command("go", append(args, "./cmd/kubelet")...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
	return out
}

const stampFlag = "-X k8s.io/kubernetes/version.gitVersion=v1.36.3"

func TestReadBinary(t *testing.T) {
	for _, build := range []struct {
		name     string
		flags    []string
		stripped bool
	}{
		{"plain", []string{"-ldflags=" + stampFlag}, false},
		{"stripped", []string{"-ldflags=-s -w " + stampFlag}, true},
		{"as released", []string{"-trimpath", "-ldflags=-s -w " + stampFlag}, true},
		{"position independent", []string{"-buildmode=pie", "-ldflags=-s -w " + stampFlag}, true},
	} {
		t.Run(build.name, func(t *testing.T) {
			b, err := ReadBinary(buildFake(t, build.flags...))
			if err != nil {
				t.Fatal(err)
			}
			if b.KubernetesVersion != "v1.36.3" || b.GoVersion != runtime.Version() || b.Arch != runtime.GOARCH || b.Stripped != build.stripped {
				t.Errorf("read version %q, go %q, arch %q, stripped %v", b.KubernetesVersion, b.GoVersion, b.Arch, b.Stripped)
			}
			checkHas(t, b)
		})
	}
}

func checkHas(t *testing.T, b *Binary) {
	const pkg, file = "k8s.io/kubernetes/pkg/kubelet.", "pkg/kubelet/kubelet.go"
	for _, c := range []struct {
		symbol, closure, file string
		why                   string
	}{
		{"(*Kubelet).SyncPod", "", file, ""},
		{"(*Kubelet).small", "", file, "inlined"},
		{"(*Kubelet).gone", "", file, "no such function in kubelet v1.36.3"},
		{"withLiteral", "send", file, ""},
		{"killPodNow", "return", file, ""},
		{"killPodNow", "return", "pkg/elsewhere/kubelet.go", "no function literal"},
		{"withoutLiteral", "send", file, "no function literal"},
		{"gone", "send", file, "no such function"},
	} {
		ok, why := b.Has(&Step{Symbol: pkg + c.symbol, Closure: c.closure, File: c.file})
		if ok != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("Has(%s %s in %s) = %v, %q; want %q", c.symbol, c.closure, c.file, ok, why, c.why)
		}
	}
	found, line, ok := b.Line(&Step{Symbol: pkg + "(*Kubelet).SyncPod"})
	if !ok || !strings.HasSuffix(found, file) || line != 6 {
		t.Errorf("SyncPod is at %s:%d, %v", found, line, ok)
	}
}

func TestReadBinaryWithoutVersion(t *testing.T) {
	b, err := ReadBinary(buildFake(t))
	if err != nil {
		t.Fatal(err)
	}
	if b.KubernetesVersion != "" {
		t.Errorf("a kubelet without a stamp has version %q", b.KubernetesVersion)
	}
}

func TestReadBinaryErrors(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, content []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, content, 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(buildFake(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, file, want string }{
		{"missing", filepath.Join(dir, "missing"), "no such file"},
		{"directory", dir, "directory"},
		{"empty", write("empty", nil), "not an ELF program"},
		{"text", write("text", []byte("#!/bin/sh\necho no kubelet here, only a shell script\n")), "not an ELF program"},
		{"not go", write("notgo", whole[:64]), "not"},
		{"not a kubelet", self, "not a kubelet"},
		{"half", write("half", whole[:len(whole)/2]), "read kubelet"},
		{"no table", write("notable", withoutTable(t, whole)), ".gopclntab"},
		{"damaged table", write("damaged", withZeroedTable(t, whole)), "table of Go functions"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := ReadBinary(c.file)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q lacks %q", err, c.want)
			}
		})
	}
}

// withoutTable renames the section: a missing one looks the same.
func withoutTable(t *testing.T, program []byte) []byte {
	t.Helper()
	out := bytes.Replace(program, []byte(".gopclntab\x00"), []byte(".gopclnXXX\x00"), 1)
	if bytes.Equal(out, program) {
		t.Fatal("the program has no section .gopclntab")
	}
	return out
}

func withZeroedTable(t *testing.T, program []byte) []byte {
	t.Helper()
	file, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		t.Fatal(err)
	}
	section := file.Section(".gopclntab")
	out := bytes.Clone(program)
	clear(out[section.Offset+8 : section.Offset+section.Size])
	return out
}

func TestWithoutPackage(t *testing.T) {
	for symbol, want := range map[string]string{
		"k8s.io/kubernetes/pkg/kubelet.(*Kubelet).SyncPod": "(*Kubelet).SyncPod",
		"k8s.io/kubernetes/pkg/kubelet.killPodNow":         "killPodNow",
		"main.main.func1": "main.func1",
		"a/b.(*Cache[go.shape.struct { c/d.E }]).Get": "(*Cache[go.shape.struct { c/d.E }]).Get",
	} {
		if got := withoutPackage(symbol); got != want {
			t.Errorf("withoutPackage(%q) = %q, want %q", symbol, got, want)
		}
	}
}

// TestOuter: the name of a literal has the names of its function and of the literals around it.
func TestOuter(t *testing.T) {
	for name, want := range map[string]string{
		"k8s.io/a.F": "k8s.io/a.F", "k8s.io/a.F.func1": "k8s.io/a.F", "k8s.io/a.(*T).F.func12": "k8s.io/a.(*T).F", "k8s.io/a.F.func1.2": "k8s.io/a.F",
		"k8s.io/a.F.func1.2.3": "k8s.io/a.F", "k8s.io/a.F.func1.G.func2": "k8s.io/a.F.func1.G", "k8s.io/a.F.deferwrap1": "k8s.io/a.F.deferwrap1",
		"k8s.io/a.F2": "k8s.io/a.F2", "k8s.io/v1.2": "k8s.io/v1", "": "", "func1": "func1",
	} {
		if got := Outer(name); got != want {
			t.Errorf("%s is in %q, want %q", name, got, want)
		}
	}
}
