// Package versions says of which kubelets and containerds tests make nodes.
//
// They are built from their modules into the folder that PODSTEP_BIN names, by
// `make kubelet kubelets containerd2`. It knows nothing of labs, so that the
// lab's own tests can use it.
package versions

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A Version is what a containerd lab can be made of.
type Version struct {
	Kubelet    string // the release, to the minor: v1.34
	Containerd string // 2, 2.4, or empty for the machine's
	Debug      bool   // it has debug information

	kubelet string // a pattern below PODSTEP_BIN, because patch levels change
	target  string // of make, which builds it
}

// All are the versions that podstep is to work with, each kubelet unmodified.
func All() []Version {
	return []Version{
		{Kubelet: "v1.31", kubelet: "kubelet-v1.31.*", target: "kubelets"},
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

// Debug are kubelets of the catalogue's version with debug information: one that is optimised,
// and one that is built as for a debugger.
func Debug() []Version {
	return []Version{
		{Kubelet: "v1.36, optimised", kubelet: "kubelet-debug", target: "kubelets-debug", Debug: true},
		{Kubelet: "v1.36, not optimised", kubelet: "kubelet-debug-N-l", target: "kubelets-debug", Debug: true},
	}
}

// Name is that of a subtest.
func (v Version) Name() string {
	if v.Containerd == "" {
		return "kubelet " + v.Kubelet
	}
	return "kubelet " + v.Kubelet + ", containerd " + v.Containerd
}

// Flags are those of podstep-lab that make it a node of this version. A test of
// one that is not built is skipped.
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

// built is the program of that name, if there is one.
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
