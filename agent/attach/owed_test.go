package attach

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestOwed: podstep does not end as if all was well while a path may not be the runtime's.
func TestOwed(t *testing.T) {
	dir := t.TempDir()
	p := &taken{path: filepath.Join(dir, "r.sock"), root: "/", file: filepath.Join(dir, "r.json"), pid: os.Getpid()}
	f, err := os.Create(p.file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fmt.Fprintf(f, `{"path":%q,"pid":%d}`, p.path, p.pid)
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	r := playRuntime(t)
	s := attachTo(t, r)
	_, err = p.ensure(t.Context())
	s.target.owed.note(p, err)
	if err := s.Stop(t.Context()); err == nil || !strings.Contains(err.Error(), "may not be the runtime's again") || !strings.Contains(err.Error(), "podstep restore") {
		t.Errorf("it ends with %v", err)
	}
	if err := os.Remove(p.file); err != nil {
		t.Fatal(err)
	}
	if err := s.target.owed.pay(t.Context()); err != nil {
		t.Errorf("after its end: %v", err)
	}
}
