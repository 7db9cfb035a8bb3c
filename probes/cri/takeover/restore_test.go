package takeover

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func itoa(n int) string { return strconv.Itoa(n) }

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	must(t, err)
	return n
}

// TestRestore: restore cleans up after a podstep and its guard that were killed together, from the state file or
// from the names alone.
func TestRestore(t *testing.T) {
	for _, c := range []struct {
		name    string
		meddle  func(t *testing.T, s *setup, rt *child)
		sockets bool
	}{
		{"with the state", nil, false},
		{"with both", nil, true},
		{"without the state", func(t *testing.T, s *setup, _ *child) { must(t, os.RemoveAll(s.state)) }, true},
		{"when the runtime is back", func(t *testing.T, s *setup, rt *child) {
			rt.kill()
			play(t, "echo", s.path)
		}, false},
		{"when the runtime is back, without the state", func(t *testing.T, s *setup, rt *child) {
			rt.kill()
			play(t, "echo", s.path)
			must(t, os.RemoveAll(s.state))
		}, true},
		{"when our socket was removed", func(t *testing.T, s *setup, _ *child) { must(t, os.Remove(s.path)) }, false},
		{"when our socket was removed, without the state", func(t *testing.T, s *setup, _ *child) {
			must(t, os.Remove(s.path))
			must(t, os.RemoveAll(s.state))
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSetup(t)
			rt := play(t, "echo", s.path)
			s.killBoth(t)
			if c.meddle != nil {
				c.meddle(t, s, rt)
			}
			var sockets []string
			if c.sockets {
				sockets = []string{s.path}
			}
			got, err := Restore(s.state, sockets...)
			if err != nil || len(got) != 1 || got[0].Error != "" || got[0].Living || len(got[0].Done) == 0 || got[0].Socket != s.path {
				t.Errorf("restored %+v, %v", got, err)
			}
			if err := round(s.path); err != nil {
				t.Error(err)
			}
			s.untouched(t, "rt.sock")
			if got, err := Restore(s.state, sockets...); err != nil || len(got) != 0 {
				t.Errorf("the second time %+v, %v", got, err)
			}
		})
	}
}

// TestHidden: a socket in another mount namespace is taken, given back by the
// guard, and restored when the process through which it was seen is gone.
func TestHidden(t *testing.T) {
	needRoot(t)
	s := newSetup(t)
	rt := play(t, "hidden", s.path)
	root := "/proc/" + itoa(rt.pid()) + "/root"
	inside := root + s.path
	// The way through /proc is too long for a socket's address.
	short := filepath.Join(filepath.Dir(s.dir), "in")
	must(t, os.Symlink(root+s.dir, short))
	inode := stat(t, inside).Ino
	given := func() bool {
		_, second := os.Lstat(inside + suffix)
		return os.IsNotExist(second) && stat(t, inside).Ino == inode
	}

	tk := s.take(t, func(o *Options) { o.Root = root })
	if err := round(filepath.Join(short, "rt.sock")); err != nil || s.relay.conns.Load() != 1 {
		t.Errorf("%d connections came to us: %v", s.relay.conns.Load(), err)
	}
	s.give(t, tk)
	if !given() {
		t.Error("the path was not given back")
	}

	holder := play(t, "holder", s.path, s.state, root)
	holder.kill()
	until(t, "the guard gives back", given)

	s.killBoth(t, root)
	files, err := filepath.Glob(s.state + "/*.json")
	must(t, err)
	b, err := os.ReadFile(files[0])
	must(t, err)
	must(t, os.WriteFile(files[0], []byte(strings.ReplaceAll(string(b), root, "/proc/4194305/root")), 0o600))
	got, err := Restore(s.state)
	if err != nil || len(got) != 1 || got[0].Error != "" || !given() {
		t.Errorf("restored %+v, %v", got, err)
	}
	s.untouched(t)
}

// killBoth leaves the files that a podstep leaves whose guard dies with it.
func (s *setup) killBoth(t *testing.T, root ...string) {
	t.Helper()
	holder := play(t, append([]string{"holder", s.path, s.state}, root...)...)
	guard := guardOf(t, holder.pid())
	// Stopped, it does not start another guard.
	must(t, unix.Kill(holder.pid(), unix.SIGSTOP))
	until(t, "the holder stands still", func() bool { return standsStill(holder.pid()) })
	must(t, unix.Kill(guard, unix.SIGKILL))
	holder.kill()
	if _, err := os.Lstat(strings.Join(root, "") + s.path + suffix); err != nil {
		t.Fatalf("nothing is left to restore: %v", err)
	}
}

// standsStill reports whether all threads of a process have stopped, which happens some time after kill(2) has
// returned.
func standsStill(pid int) bool {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	return len(tasks) > 0 && !slices.ContainsFunc(tasks, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && !strings.Contains(string(text), "T (stopped)")
	})
}

// TestRestoreBoth: with runtime and podstep dead only the state shows which socket was whose. Nothing of ours is
// left.
func TestRestoreBoth(t *testing.T) {
	s := newSetup(t)
	rt := play(t, "echo", s.path)
	inode := stat(t, s.path).Ino
	s.killBoth(t)
	rt.kill()
	if got, err := Restore(s.state); err != nil || len(got) != 1 || got[0].Error != "" {
		t.Errorf("restored %+v, %v", got, err)
	}
	if stat(t, s.path).Ino != inode {
		t.Error("the runtime's dead socket is not at the path")
	}
	s.untouched(t, "rt.sock")
}

// TestRestoreLeavesTheLiving alone.
func TestRestoreLeavesTheLiving(t *testing.T) {
	s := newSetup(t)
	play(t, "echo", s.path)
	holder := play(t, "holder", s.path, s.state)
	before := listed(t, s.dir)
	for _, state := range []string{s.state, s.state + "2"} {
		got, err := Restore(state, s.path)
		if err != nil || len(got) == 0 {
			t.Fatalf("restored %+v, %v", got, err)
		}
		for _, r := range got {
			if !r.Living || r.PID != holder.pid() || len(r.Done) > 0 || r.Error != "" {
				t.Errorf("restored %+v", r)
			}
		}
	}
	if got := listed(t, s.dir); got != before {
		t.Errorf("in the directory was %s and is %s", before, got)
	}
}

// TestTakeHeals: a take clears what a dead podstep has left.
func TestTakeHeals(t *testing.T) {
	s := newSetup(t)
	play(t, "echo", s.path)
	inode := stat(t, s.path).Ino
	s.killBoth(t)
	tk := s.take(t)
	if !s.through(t) {
		t.Error("connections do not come to us")
	}
	s.give(t, tk)
	if stat(t, s.path).Ino != inode {
		t.Error("the path was not given back")
	}
	s.untouched(t, "rt.sock")
}

// TestBrokenState: a broken state file is reported, and left for a person to look at.
func TestBrokenState(t *testing.T) {
	s := newSetup(t)
	must(t, os.MkdirAll(s.state, 0o700))
	file := filepath.Join(s.state, "x.json")
	must(t, os.WriteFile(file, []byte(`{"path":`), 0o600))
	got, err := Restore(s.state)
	if err != nil || len(got) != 1 || !strings.Contains(got[0].Error, "remove "+file) {
		t.Errorf("restored %+v, %v", got, err)
	}
	if _, err := os.Lstat(file); err != nil {
		t.Error(err)
	}
}
