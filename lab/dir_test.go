package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestResolve(t *testing.T) {
	tmp, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(tmp, filepath.Join(tmp, "link")); err != nil {
		t.Fatal(err)
	}
	got, err := resolve(filepath.Join(tmp, "link", "link", "new", "lab"))
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(tmp, "new", "lab"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestClaim(t *testing.T) {
	tmp, err := os.MkdirTemp("", "lab")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	p := paths{dir: filepath.Join(tmp, "a", "b")}
	lock, err := claim(p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := claim(p); err == nil || !strings.Contains(err.Error(), "a lab is running in") {
		t.Errorf("a claimed directory can be claimed: %v", err)
	}
	lock.Close()
	if err := os.WriteFile(p.at("left over"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	lock, err = claim(p)
	if err != nil {
		t.Fatal("a lab's directory cannot be claimed again:", err)
	}
	lock.Close()

	if err := os.WriteFile(filepath.Join(tmp, "precious"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := claim(paths{dir: tmp}); err == nil || !strings.Contains(err.Error(), "not the directory of a lab") {
		t.Errorf("somebody's directory can be claimed: %v", err)
	}
	if _, err := claim(paths{dir: "/" + strings.Repeat("x", maxDir)}); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("a directory with a long name can be claimed: %v", err)
	}
}

func TestSweepDir(t *testing.T) {
	p := paths{dir: t.TempDir()}
	for _, dir := range []string{"logs/pods", "kubelet/pods", "etcd"} {
		if err := os.MkdirAll(p.at(dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(p.lock(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := sweepDir(p, "logs"); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(p.dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 2 || entries[0].Name() != "lab.lock" || entries[1].Name() != "logs" {
		t.Errorf("left are %v", entries)
	}
}

func TestNames(t *testing.T) {
	a, b := namesOf("/tmp/a"), namesOf("/tmp/b")
	if a.bridge == b.bridge || a.cgroup == b.cgroup {
		t.Errorf("two directories have the names %v and %v", a, b)
	}
	if len(a.bridge) > 15 {
		t.Errorf("the kernel does not take %q as the name of an interface", a.bridge)
	}
}

func TestTail(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(file, []byte(strings.Repeat("old line\n", 100_000)+"b\nc\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := tail(file, 3)
	if err != nil {
		t.Fatal(err)
	}
	if want := "old line\nb\nc"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
