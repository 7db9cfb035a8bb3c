package callsite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// TestBegins finds a function of this program, and compares its line with the source.
func TestBegins(t *testing.T) {
	_ = new(v1.Pod).DeepCopy() // so that the linker keeps it
	const symbol = "k8s.io/api/core/v1.(*PodSpec).DeepCopyInto"
	at, ok := Begins(map[string]bool{symbol: true})[symbol]
	if !ok {
		t.Fatal("DeepCopyInto of a pod's spec is not found")
	}
	if got, want := ModuleFile(at.File), "core/v1/zz_generated.deepcopy.go"; got != want {
		t.Errorf("it is in %s, want %s", got, want)
	}
	if !filepath.IsAbs(at.File) {
		return // built with -trimpath
	}
	source, err := os.ReadFile(at.File)
	if err != nil {
		t.Fatal(err)
	}
	if line := strings.Split(string(source), "\n")[at.Line-1]; !strings.HasPrefix(line, "func (in *PodSpec) DeepCopyInto(") {
		t.Errorf("line %d is %q", at.Line, line)
	}
}

func TestModuleFile(t *testing.T) {
	for file, want := range map[string]string{
		"/go/pkg/mod/k8s.io/kubernetes@v1.36.3/pkg/kubelet/kubelet.go": "pkg/kubelet/kubelet.go",
		"k8s.io/kubernetes@v1.36.3/pkg/kubelet/kubelet.go":             "pkg/kubelet/kubelet.go",
		"/src/kubernetes/pkg/kubelet/kubelet.go":                       "/src/kubernetes/pkg/kubelet/kubelet.go",
		"":                                                             "",
	} {
		if got := ModuleFile(file); got != want {
			t.Errorf("ModuleFile(%q) = %q, want %q", file, got, want)
		}
	}
}
