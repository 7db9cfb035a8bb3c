package takeover

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAsideRemoved: when somebody removes the second name, podstep makes it again.
func TestAsideRemoved(t *testing.T) {
	s := newSetup(t)
	play(t, "echo", s.path)
	inode := stat(t, s.path).Ino
	tk := s.take(t)
	must(t, os.Remove(s.path+suffix))
	if n := s.notes.wait(t, AsideRestored); !strings.Contains(n.Text, "somebody removed rt.sock.podstep") {
		t.Errorf("it is said: %s", n.Text)
	}
	if !s.through(t) || stat(t, s.path+suffix).Ino != inode {
		t.Error("the second name is not the runtime's, or connections do not come to us any more")
	}
	s.give(t, tk)
	if stat(t, s.path).Ino != inode {
		t.Error("the path was not given back")
	}
	s.untouched(t, "rt.sock")
}

// TestAsideReplaced: a file that somebody puts to the second name is left there, and not given back as the
// runtime's socket.
func TestAsideReplaced(t *testing.T) {
	s := newSetup(t)
	play(t, "echo", s.path)
	inode := stat(t, s.path).Ino
	tk := s.take(t)
	tk.mu.Lock() // or the watch makes it again
	must(t, os.Remove(s.path+suffix))
	write(t, s.path+suffix)
	tk.mu.Unlock()
	if n := s.notes.wait(t, PathLost); !strings.Contains(n.Text, "gives "+s.path+" back from .podstep/rt.sock") {
		t.Errorf("it is said: %s", n.Text)
	}
	s.give(t, tk)
	if stat(t, s.path).Ino != inode || round(s.path) != nil {
		t.Error("the path was not given back")
	}
	s.untouched(t, "rt.sock", "rt.sock"+suffix)
}

// TestSpareGivesBack: the guard and restore give the path back also without the second name, whether the path is
// there or not.
func TestSpareGivesBack(t *testing.T) {
	for _, c := range []struct {
		name   string
		remove []string
		act    func(t *testing.T, s *setup, sockets ...string)
		guard  bool
	}{
		{"the guard", []string{suffix}, nil, true},
		{"the guard, both removed", []string{suffix, ""}, nil, true},
		{"restore", []string{suffix}, restoreIn, false},
		{"restore, both removed", []string{suffix, ""}, restoreIn, false},
		{"restore without the state", []string{suffix}, func(t *testing.T, s *setup, _ ...string) {
			must(t, os.RemoveAll(s.state))
			restoreIn(t, s, s.path)
		}, false},
		{"restore without the state, both removed", []string{suffix, ""}, func(t *testing.T, s *setup, _ ...string) {
			must(t, os.RemoveAll(s.state))
			restoreIn(t, s, s.path)
		}, false},
		{"the next takeover", []string{suffix}, func(t *testing.T, s *setup, _ ...string) { s.give(t, s.take(t)) }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSetup(t)
			play(t, "echo", s.path)
			inode := stat(t, s.path).Ino
			var holder *child
			if c.guard {
				holder = s.stopped(t)
			} else {
				s.killBoth(t)
			}
			for _, end := range c.remove {
				must(t, os.Remove(s.path+end))
			}
			if c.guard {
				holder.kill()
				until(t, "the guard has given it back", func() bool {
					var st unix.Stat_t
					return unix.Lstat(s.path, &st) == nil && st.Ino == inode && guards(t, s) == 0
				})
			} else {
				c.act(t, s)
			}
			if err := round(s.path); err != nil || stat(t, s.path).Ino != inode {
				t.Errorf("the path was not given back: %v", err)
			}
			s.untouched(t, "rt.sock")
		})
	}
}

// stopped returns a podstep that has taken the path and is stopped.
func (s *setup) stopped(t *testing.T) *child {
	t.Helper()
	holder := play(t, "holder", s.path, s.state)
	must(t, unix.Kill(holder.pid(), unix.SIGSTOP))
	until(t, "the holder stands still", func() bool { return standsStill(holder.pid()) })
	return holder
}

func restoreIn(t *testing.T, s *setup, sockets ...string) {
	t.Helper()
	got, err := Restore(s.state, sockets...)
	if err != nil || len(got) != 1 || got[0].Error != "" || !strings.Contains(strings.Join(got[0].Done, "; "), "back to the runtime") {
		t.Errorf("restored %+v, %v", got, err)
	}
}

// TestSpareDirOfOthers: a directory that is not podstep's own is not used. What is
// in it may be anybody's.
func TestSpareDirOfOthers(t *testing.T) {
	for name, prepare := range map[string]func(dir string) error{
		"a link":             func(dir string) error { return os.Symlink("/tmp", dir) },
		"a file":             func(dir string) error { return os.WriteFile(dir, nil, 0o600) },
		"open for everybody": func(dir string) error { return os.Mkdir(dir, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSetup(t)
			play(t, "echo", s.path)
			dir := filepath.Join(s.dir, spareDir)
			must(t, prepare(dir))
			if name == "open for everybody" {
				must(t, os.Chmod(dir, 0o777))
			}
			tk := s.take(t)
			if n := s.notes.wait(t, NotKept); !strings.Contains(n.Err.Error(), "is not podstep's own directory") {
				t.Errorf("it is said: %s: %v", n.Text, n.Err)
			}
			s.give(t, tk)
			s.untouched(t, spareDir, "rt.sock")
		})
	}
}

// TestStaleSpare: a spare name that was left beside a socket that the runtime made anew is removed by the next
// takeover.
func TestStaleSpare(t *testing.T) {
	s := newSetup(t)
	must(t, os.Mkdir(filepath.Join(s.dir, spareDir), 0o700))
	dead(t, filepath.Join(s.dir, spareDir, "rt.sock"))
	play(t, "echo", s.path)
	s.give(t, s.take(t))
	s.untouched(t, "rt.sock")
}
