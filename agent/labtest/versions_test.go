package labtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestBuilt(t *testing.T) {
	dir := t.TempDir()
	write := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const pattern = "kubelet-v1.34.*"
	// A script's note about a program lies beside it, and is no program.
	write(".kubelet-v1.34.4.built")
	if got, err := built(dir, pattern); err == nil || !strings.Contains(err.Error(), "not built") {
		t.Errorf("found %q, %v in an empty folder", got, err)
	}
	write("kubelet-v1.34.4")
	if got, err := built(dir, pattern); err != nil || got != filepath.Join(dir, "kubelet-v1.34.4") {
		t.Errorf("found %q, %v", got, err)
	}
	write("kubelet-v1.34.5")
	if got, err := built(dir, pattern); err == nil || !strings.Contains(err.Error(), "more than once") {
		t.Errorf("found %q, %v of two", got, err)
	}
}

// TestFlags: a node of the machine's containerd has no flag for another.
func TestFlags(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PODSTEP_BIN", dir)
	kubelet, containerd := filepath.Join(dir, "kubelet"), filepath.Join(dir, "containerd-2", "containerd")
	if err := os.Mkdir(filepath.Dir(containerd), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{kubelet, containerd} {
		if err := os.WriteFile(file, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		containerd string
		want       []string
	}{
		{"", []string{"--kubelet", kubelet}},
		{"2", []string{"--kubelet", kubelet, "--containerd", containerd}},
	} {
		v := Version{Kubelet: "v1.36", Containerd: c.containerd, kubelet: "kubelet"}
		if got := v.Flags(t); !slices.Equal(got, c.want) {
			t.Errorf("containerd %q: flags %v, want %v", c.containerd, got, c.want)
		}
	}
}

func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range Versions() {
		if seen[v.Name()] {
			t.Errorf("%s is there twice", v.Name())
		}
		seen[v.Name()] = true
	}
}
