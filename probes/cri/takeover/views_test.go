package takeover

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestJailed: a process with the same mounts, but another root directory, does not see what the kubelet saw. What
// it does not see may be there.
func TestJailed(t *testing.T) {
	needRoot(t)
	for _, alone := range []bool{false, true} {
		s := newSetup(t)
		rt := play(t, "hidden", s.path)
		root := "/proc/" + itoa(rt.pid()) + "/root"
		inode := stat(t, root+s.path).Ino
		s.killBoth(t, root)
		jail := play(t, "jail", itoa(rt.pid()), s.state)
		view := "/proc/" + itoa(jail.pid()) + "/root"
		file := s.editState(t, root, view)
		if alone {
			rt.kill()
		}
		got, err := Restore(s.state)
		if err != nil || len(got) != 1 {
			t.Fatalf("restored %+v, %v", got, err)
		}
		_, kept := os.Lstat(file)
		if !alone && (got[0].Error != "" || stat(t, root+s.path).Ino != inode || kept == nil) {
			t.Errorf("restored %+v, and the state is there: %v", got, kept == nil)
		}
		if alone && (!strings.HasSuffix(got[0].Error, "remove "+file+" then") || kept != nil) {
			t.Errorf("restored %+v, and the state is there: %v", got, kept == nil)
		}
	}
}

// editState changes the only state, and returns its file.
func (s *setup) editState(t *testing.T, from, to string) string {
	t.Helper()
	files, err := filepath.Glob(s.state + "/*.json")
	must(t, err)
	b, err := os.ReadFile(files[0])
	must(t, err)
	must(t, os.WriteFile(files[0], []byte(strings.ReplaceAll(string(b), from, to)), 0o600))
	return files[0]
}

// TestDirectoryGone: all that was in the directory went with it.
func TestDirectoryGone(t *testing.T) {
	for _, again := range []bool{false, true} {
		s := newSetup(t)
		play(t, "echo", s.path)
		s.killBoth(t)
		must(t, os.Rename(s.dir, s.dir+"2"))
		if again {
			must(t, os.Mkdir(s.dir, 0o755))
			play(t, "echo", s.path)
		}
		got, err := Restore(s.state)
		if err != nil || len(got) != 1 || got[0].Error != "" || len(got[0].Done) != 2 {
			t.Errorf("restored %+v, %v", got, err)
		}
		want := "directory is gone"
		if again {
			want = "directory was replaced"
		}
		if !strings.Contains(got[0].Done[0], want) || !strings.Contains(got[0].Done[0], "restart the runtime") {
			t.Errorf("it is said %q, want %q", got[0].Done[0], want)
		}
		left, err := os.ReadDir(s.state)
		if err != nil || len(left) > 0 {
			t.Errorf("left are %v, %v", left, err)
		}
	}
}
