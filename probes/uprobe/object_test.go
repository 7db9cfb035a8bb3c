//go:build linux

package uprobe

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// compiledBy is the major version of clang that compiles the objects: that of Debian 12.
const compiledBy = "14"

var clangMajor = regexp.MustCompile(`clang version (\d+)\.`)

// TestObject: the objects of both architectures are what bpf/steps.bpf.c compiles to.
func TestObject(t *testing.T) {
	for _, tool := range []string{"clang", "llvm-strip"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s: apt-get install clang llvm", tool)
		}
	}
	text, err := exec.Command("clang", "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	if m := clangMajor.FindStringSubmatch(string(text)); m == nil || m[1] != compiledBy {
		first, _, _ := strings.Cut(string(text), "\n")
		t.Skipf("another clang compiles to other code: this is %s, and the object is of %s", first, compiledBy)
	}
	dir := t.TempDir()
	if text, err := exec.Command("bpf/generate.sh", dir).CombinedOutput(); err != nil {
		t.Fatalf("compile steps.bpf.c: %v\n%s", err, text)
	}
	for _, name := range objectFiles {
		if !bytes.Equal(contents(t, filepath.Join(dir, name)), contents(t, name)) {
			t.Errorf("%s is not what steps.bpf.c compiles to: run go generate ./probes/uprobe", name)
		}
	}
}

// objectFiles are the files of the program, one for each architecture.
var objectFiles = []string{"steps.amd64.bpf.o", "steps.arm64.bpf.o"}

func contents(t *testing.T, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
