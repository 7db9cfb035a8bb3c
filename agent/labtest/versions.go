package labtest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A Version is a kubelet and a containerd of which a lab can be made.
type Version struct {
	Kubelet    string // the release, to the minor: v1.34
	Containerd string // 2, 2.4, or empty for the machine's
	Debug      bool   // the kubelet has debug information

	kubelet string // a pattern below PODSTEP_BIN, because patch levels change
	target  string // of make, which builds it
}

// Versions returns the kubelets and containerds with which podstep is to work, each kubelet unmodified. `make kubelet
// kubelets containerd2` builds them from their modules into the folder that PODSTEP_BIN names.
func Versions() []Version {
	return []Version{
		{Kubelet: "v1.25", kubelet: "kubelet-v1.25.*", target: "kubelets"},
		{Kubelet: "v1.26", kubelet: "kubelet-v1.26.*", target: "kubelets"},
		{Kubelet: "v1.27", kubelet: "kubelet-v1.27.*", target: "kubelets"},
		{Kubelet: "v1.28", kubelet: "kubelet-v1.28.*", target: "kubelets"},
		{Kubelet: "v1.29", kubelet: "kubelet-v1.29.*", target: "kubelets"},
		{Kubelet: "v1.30", kubelet: "kubelet-v1.30.*", target: "kubelets"},
		{Kubelet: "v1.31", kubelet: "kubelet-v1.31.*", target: "kubelets"},
		{Kubelet: "v1.32", kubelet: "kubelet-v1.32.*", target: "kubelets"},
		{Kubelet: "v1.33", kubelet: "kubelet-v1.33.*", target: "kubelets"},
		{Kubelet: "v1.34", kubelet: "kubelet-v1.34.*", target: "kubelets"},
		{Kubelet: "v1.35", kubelet: "kubelet-v1.35.*", target: "kubelets"},
		{Kubelet: "v1.36", kubelet: "kubelet", target: "kubelet"},
		{Kubelet: "v1.37", kubelet: "kubelet-v1.37.*", target: "kubelets"},
		{Kubelet: "v1.31", Containerd: "2", kubelet: "kubelet-v1.31.*", target: "kubelets"},
		{Kubelet: "v1.36", Containerd: "2", kubelet: "kubelet", target: "kubelet"},
		{Kubelet: "v1.37", Containerd: "2", kubelet: "kubelet-v1.37.*", target: "kubelets"},
		{Kubelet: "v1.37", Containerd: "2.4", kubelet: "kubelet-v1.37.*", target: "kubelets"},
	}
}

// DebugVersions returns the kubelets of the catalogue's version with debug information: an optimised one, and one
// that is built as for a debugger.
func DebugVersions() []Version {
	return []Version{
		{Kubelet: "v1.36, optimised", kubelet: "kubelet-debug", target: "kubelets-debug", Debug: true},
		{Kubelet: "v1.36, not optimised", kubelet: "kubelet-debug-N-l", target: "kubelets-debug", Debug: true},
	}
}

// Name returns the name for a subtest.
func (v Version) Name() string {
	if v.Containerd == "" {
		return "kubelet " + v.Kubelet
	}
	return "kubelet " + v.Kubelet + ", containerd " + v.Containerd
}

// Flags returns the flags of podstep-lab for a node of this version. It skips the test if the version is not built.
func (v Version) Flags(tb testing.TB) []string {
	tb.Helper()
	dir := os.Getenv("PODSTEP_BIN")
	if dir == "" {
		tb.Skip("PODSTEP_BIN is not set: run this test with make test-versions")
	}
	kubelet, err := built(dir, v.kubelet)
	if err != nil {
		tb.Skipf("kubelet %s %v: run make %s", v.Kubelet, err, v.target)
	}
	flags := []string{"--kubelet", kubelet}
	if v.Containerd == "" {
		return flags
	}
	containerd, err := built(dir, "containerd-"+v.Containerd+"/containerd")
	if err != nil {
		tb.Skipf("containerd %s %v: run make containerd2", v.Containerd, err)
	}
	return append(flags, "--containerd", containerd)
}

// built returns the path of the program that matches a pattern below dir.
func built(dir, pattern string) (string, error) {
	all, err := filepath.Glob(filepath.Join(dir, pattern))
	switch {
	case err != nil:
		return "", err
	case len(all) == 0:
		return "", errors.New("is not built")
	case len(all) > 1:
		return "", errors.New("is there more than once: " + strings.Join(all, ", "))
	}
	return filepath.Abs(all[0])
}
