package labtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A Version is a kubelet and a containerd of which a lab can be made.
type Version struct {
	Kubelet    string // the release, to the minor: v1.34
	Containerd string // 2, 2.4, or empty for the machine's
	Form       string // how the kubelet is built, a form of scripts/kubelet.sh; empty as it is released

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

// Builds returns kubelets of four versions in each form of scripts/kubelet.sh in which people build them. Released ones are
// among Versions.
func Builds() (out []Version) {
	for _, minor := range []string{"v1.31", "v1.34", "v1.36", "v1.37"} {
		for _, form := range []string{"cgo", "pie", "combined", "dwarf", "plain"} {
			out = append(out, Version{Kubelet: minor, Form: form, kubelet: "kubelet-" + form + "-" + minor + ".*", target: "kubelet-builds"})
		}
	}
	return out
}

// Fork returns a kubelet of the catalogue's version whose types somebody has changed.
func Fork() Version {
	return Version{Kubelet: "v1.36", Form: "fork", kubelet: "kubelet-fork-v1.36.*", target: "kubelet-builds"}
}

// Debug reports whether the kubelet has debug information.
func (v Version) Debug() bool { return v.Form == "dwarf" || v.Form == "plain" }

// Way returns the name of a way of looking for Lab.Tried: by uprobe, "uprobe" of a released kubelet, and "uprobe cgo" of one that
// is built so.
func (v Version) Way(probe string) string { return strings.TrimSpace(probe + " " + v.Form) }

// Name returns the name for a subtest.
func (v Version) Name() string {
	name := "kubelet " + v.Kubelet
	if v.Form != "" {
		name += ", " + v.Form
	}
	if v.Containerd != "" {
		name += ", containerd " + v.Containerd
	}
	return name
}

// Flags returns the flags of podstep-lab for a node of this version. It skips the test if the version is not built.
func (v Version) Flags(tb testing.TB) []string {
	tb.Helper()
	kubelet, err := v.Program()
	if err != nil {
		tb.Skip(err)
	}
	flags := []string{"--kubelet", kubelet}
	if v.Containerd == "" {
		return flags
	}
	containerd, err := built(os.Getenv("PODSTEP_BIN"), "containerd-"+v.Containerd+"/containerd")
	if err != nil {
		tb.Skipf("containerd %s %v: run make containerd2", v.Containerd, err)
	}
	return append(flags, "--containerd", containerd)
}

// Program returns the path of the kubelet.
func (v Version) Program() (string, error) {
	dir := os.Getenv("PODSTEP_BIN")
	if dir == "" {
		return "", errors.New("PODSTEP_BIN is not set: run this test with make test-versions")
	}
	path, err := built(dir, v.kubelet)
	if err != nil {
		return "", fmt.Errorf("%s %w: run make %s", v.Name(), err, v.target)
	}
	return path, nil
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
