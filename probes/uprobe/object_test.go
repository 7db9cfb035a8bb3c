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

// compiledBy is the major version of clang that compiles steps.bpf.o: that of Debian 12.
const compiledBy = "14"

var clangMajor = regexp.MustCompile(`clang version (\d+)\.`)

// TestObject: steps.bpf.o is what bpf/steps.bpf.c compiles to.
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
	out := filepath.Join(t.TempDir(), "steps.bpf.o")
	if text, err := exec.Command("bpf/generate.sh", out).CombinedOutput(); err != nil {
		t.Fatalf("compile steps.bpf.c: %v\n%s", err, text)
	}
	compiled, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(compiled, object) {
		t.Error("steps.bpf.o is not what steps.bpf.c compiles to: run go generate ./probes/uprobe")
	}
}
