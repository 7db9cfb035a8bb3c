package takeover

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// through reports whether a connection to the path comes to us.
func (s *setup) through(t *testing.T) bool {
	t.Helper()
	before := s.relay.conns.Load()
	if err := round(s.path); err != nil {
		return false
	}
	return s.relay.conns.Load() > before
}

// TestRuntimeRestarts: while there is no runtime the path is as without us. When the runtime is back, so are we.
func TestRuntimeRestarts(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(*child)
	}{
		{"killed", (*child).kill},
		{"ended", (*child).end},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSetup(t)
			rt := play(t, "echo", s.path)
			tk := s.take(t)
			for range 3 {
				c.end(rt)
				s.notes.wait(t, RuntimeGone)
				if err := round(s.path); err == nil {
					t.Error("the path is served without a runtime")
				}
				if _, err := os.Lstat(s.path + suffix); err == nil {
					t.Error("the second name is there without a runtime")
				}
				rt = play(t, "echo", s.path)
				s.notes.wait(t, RuntimeBack)
				s.notes.wait(t, PathRetaken)
				if !s.through(t) {
					t.Error("connections do not come to us again")
				}
				if tk.RuntimePID() != rt.pid() {
					t.Errorf("the runtime is process %d, want %d", tk.RuntimePID(), rt.pid())
				}
			}
			s.give(t, tk)
			if s.through(t) {
				t.Error("the path was not given back")
			}
			s.untouched(t, "rt.sock")
		})
	}
}

// TestKubeletFollows: connections that the kubelet made to a restarted runtime
// before the path was ours again come over, too.
func TestKubeletFollows(t *testing.T) {
	needRoot(t)
	s := newSetup(t)
	rt := play(t, "server", s.path)
	kubelet := play(t, "client", s.path)
	tk := s.take(t, func(o *Options) { o.Kubelet = func(pid int) bool { return pid == kubelet.pid() } })
	rt.kill()
	s.notes.wait(t, RuntimeGone)
	play(t, "server", s.path)
	s.notes.wait(t, PathRetaken)
	if left, err := tk.Came(t.Context()); len(left) > 0 || err != nil {
		t.Errorf("left are %+v, %v", left, err)
	}
	before := s.relay.bytes.Load()
	until(t, "calls come through us", func() bool { return s.relay.bytes.Load() > before+100_000 })
}

// TestPathLost: podstep puts right what others do to the path or its directory.
func TestPathLost(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(t *testing.T, s *setup)
	}{
		{"name removed", func(t *testing.T, s *setup) { must(t, os.Remove(s.path)) }},
		{"directory moved away, and back", func(t *testing.T, s *setup) {
			must(t, os.Rename(s.dir, s.dir+"2"))
			s.notes.wait(t, PathLost)
			must(t, os.Rename(s.dir+"2", s.dir))
		}},
		{"directory replaced by a copy", func(t *testing.T, s *setup) {
			must(t, os.Rename(s.dir, s.dir+"2"))
			must(t, os.Mkdir(s.dir, 0o755))
			play(t, "echo", s.path)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSetup(t)
			play(t, "echo", s.path)
			tk := s.take(t)
			c.do(t, s)
			s.notes.wait(t, PathRetaken)
			if !s.through(t) {
				t.Error("connections do not come to us")
			}
			s.give(t, tk)
			if s.through(t) {
				t.Error("the path was not given back")
			}
			s.untouched(t, "rt.sock")
			if left, _ := filepath.Glob(filepath.Dir(s.dir) + "/*/*" + suffix); len(left) > 0 {
				t.Errorf("left are %q", left)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestDirectoryGoneMeanwhile: when the directory goes, or another takes its place, the error says what helps: then
// the path cannot be given back.
func TestDirectoryGoneMeanwhile(t *testing.T) {
	for _, again := range []bool{false, true} {
		s := newSetup(t)
		rt := play(t, "echo", s.path)
		tk := s.take(t)
		tk.mu.Lock() // or the watch makes names anew meanwhile
		must(t, os.RemoveAll(s.dir))
		if again {
			must(t, os.Mkdir(s.dir, 0o755))
		}
		tk.mu.Unlock()
		if n := s.notes.wait(t, PathLost); !strings.Contains(fmt.Sprint(n.Text, n.Err), "restart the runtime") {
			t.Errorf("it is said: %s: %v", n.Text, n.Err)
		}
		rt.kill()
		must(t, os.MkdirAll(s.dir, 0o755))
		play(t, "echo", s.path)
		s.notes.wait(t, PathRetaken)
		s.give(t, tk)
		s.untouched(t, "rt.sock")
	}
}

// TestIntruder: podstep does not fight a process that takes the path while the runtime lives, and the runtime's
// socket does not lose its last name.
func TestIntruder(t *testing.T) {
	s := newSetup(t)
	play(t, "echo", s.path)
	inode := stat(t, s.path).Ino
	o := s.options()
	tk, err := Take(t.Context(), o)
	must(t, err)
	play(t, "echo", filepath.Join(s.dir, "other"))
	must(t, os.Rename(filepath.Join(s.dir, "other"), s.path))
	s.notes.wait(t, PathLost)
	if err := tk.Give(t.Context()); err == nil {
		t.Error("it was given back to the wrong one")
	}
	if stat(t, s.path+suffix).Ino != inode {
		t.Error("the runtime's socket lost its name")
	}
}

// TestGuardRestarts: a guard that dies, or is stopped, is replaced by one that does its work.
func TestGuardRestarts(t *testing.T) {
	for _, sig := range []unix.Signal{unix.SIGKILL, unix.SIGSTOP} {
		s := newSetup(t)
		play(t, "echo", s.path)
		tk := s.take(t)
		first := tk.guardPID()
		must(t, unix.Kill(first, sig))
		s.notes.wait(t, GuardRestarted)
		if second := tk.guardPID(); second == first || second == 0 {
			t.Errorf("after %v the guard was process %d and is %d", sig, first, second)
		}
	}
}

func (t *Takeover) guardPID() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.guard == nil {
		return 0
	}
	return t.guard.link.PID()
}
