package takeover

import (
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWithoutEvents: if the kernel has no inotify instance left, a look every second is enough.
func TestWithoutEvents(t *testing.T) {
	if err := userNamespace(t); err != nil {
		t.Skipf("no user namespace can be made: %v", err)
	}
	s := newSetup(t)
	rt := play(t, "echo", s.path)
	holder := play(t, "blind", s.path, s.state)
	rt.kill()
	play(t, "echo", filepath.Join(s.dir, "next"))
	inode := stat(t, filepath.Join(s.dir, "next")).Ino
	must(t, os.Rename(filepath.Join(s.dir, "next"), s.path))
	until(t, "the next runtime's socket is taken", func() bool {
		var aside unix.Stat_t
		return unix.Lstat(s.path+suffix, &aside) == nil && aside.Ino == inode
	})
	until(t, "it is served", func() bool { return round(s.path) == nil })
	holder.end()
	if stat(t, s.path).Ino != inode {
		t.Error("the path was not given back")
	}
	s.untouched(t, "rt.sock")
}

// userNamespace returns an error if none can be made.
func userNamespace(t *testing.T) error {
	t.Helper()
	c := exec.Command("/proc/self/exe", "idle")
	c.SysProcAttr = ownUsers()
	return c.Run()
}

// interpose stands between the clients of the path and the socket that is there, as podstep does. It returns the
// name that this socket has now.
func (s *setup) interpose(t *testing.T) string {
	t.Helper()
	behind := filepath.Join(s.dir, "behind")
	must(t, os.Rename(s.path, behind))
	l, err := net.Listen("unix", s.path)
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				up, err := net.Dial("unix", behind)
				if err != nil {
					return
				}
				defer up.Close()
				go io.Copy(up, c)
				_, _ = io.Copy(c, up)
			}()
		}
	}()
	return behind
}

// TestInterposed: another process that came between meanwhile, and goes to the runtime through us, goes there
// without us afterwards.
func TestInterposed(t *testing.T) {
	for _, c := range []struct {
		name string
		take func(t *testing.T, s *setup) (end func())
	}{
		{"given back", func(t *testing.T, s *setup) func() {
			tk := s.take(t)
			return func() { s.give(t, tk) }
		}},
		{"killed", func(t *testing.T, s *setup) func() {
			return play(t, "holder", s.path, s.state).kill
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSetup(t)
			play(t, "echo", s.path)
			inode := stat(t, s.path).Ino
			end := c.take(t, s)
			behind := s.interpose(t)
			must(t, round(s.path))
			end()
			until(t, "the runtime has the name", func() bool { return stat(t, behind).Ino == inode })
			if err := round(s.path); err != nil {
				t.Error(err)
			}
			until(t, "nothing is left", func() bool {
				left, _ := os.ReadDir(s.state)
				return len(left) == 0
			})
			s.untouched(t, "behind", "rt.sock")
		})
	}
}

// TestDiedBetween: podstep was killed between two exchanges, when the runtime had just made its socket anew. That
// socket has the second name.
func TestDiedBetween(t *testing.T) {
	s := newSetup(t)
	dead(t, s.path)
	play(t, "echo", s.path+suffix)
	inode := stat(t, s.path+suffix).Ino
	p, err := findOwn(s.path)
	must(t, err)
	f, err := openState(s.state, p)
	must(t, err)
	o := order{Name: p.name, State: f.path, Ours: fileID{Dev: 1, Ino: 1}, Theirs: p.idOf(p.name)}
	must(t, f.write(state{Path: s.path, Root: "/", Dir: p.id, Name: p.name, Ours: o.Ours, Theirs: o.Theirs}))
	f.close()
	w := &watchman{order: o, dir: p.dir, ours: pinned{fd: -1}}
	must(t, w.giveBack())
	if err := round(s.path); err != nil || stat(t, s.path).Ino != inode {
		t.Errorf("the living socket is not at the path: %v", err)
	}
	s.untouched(t, "rt.sock")
}

// TestStateGoesFirst: a podstep that is killed at the very end leaves a guard that removes the state, or no state.
func TestStateGoesFirst(t *testing.T) {
	s := newSetup(t)
	play(t, "echo", s.path)
	seen := filepath.Join(filepath.Dir(s.dir), "seen")
	tk := s.take(t, func(o *Options) { o.GuardCommand = []string{"/proc/self/exe", "witness", seen} })
	s.give(t, tk)
	b, err := os.ReadFile(seen)
	if err != nil || string(b) != "true" {
		t.Errorf("the state was gone when the guard was: %s, %v", b, err)
	}
}

// TestAllRemoved: podstep notes that the runtime's own socket lost all its names while something can still be done
// about it.
func TestAllRemoved(t *testing.T) {
	s := newSetup(t)
	rt := play(t, "echo", s.path)
	tk := s.take(t)
	tk.mu.Lock() // or the watch is quicker
	must(t, os.RemoveAll(filepath.Join(s.dir, spareDir)))
	must(t, os.Remove(s.path+suffix))
	tk.mu.Unlock()
	if n := s.notes.wait(t, PathLost); !strings.Contains(n.Text, "restart the runtime") {
		t.Errorf("it is said: %s", n.Text)
	}
	if !s.through(t) {
		t.Error("connections do not come to us any more")
	}
	rt.kill()
	play(t, "echo", s.path)
	s.notes.wait(t, PathRetaken)
	s.give(t, tk)
	s.untouched(t, "rt.sock")
}

// TestHeldByWhom: a process has locked the state, and has not written down its pid.
func TestHeldByWhom(t *testing.T) {
	s := newSetup(t)
	play(t, "echo", s.path)
	p, err := findOwn(s.path)
	must(t, err)
	defer p.close()
	f, err := openState(s.state, p)
	must(t, err)
	defer f.close()
	_, err = Take(t.Context(), s.options())
	if err == nil || !strings.Contains(err.Error(), s.path+" is taken over already, by another process") {
		t.Errorf("error %v", err)
	}
}

// TestShorterState: a process that was killed while it wrote left the end of a longer state.
func TestShorterState(t *testing.T) {
	s := newSetup(t)
	play(t, "echo", s.path)
	inode := stat(t, s.path).Ino
	s.killBoth(t)
	files, err := filepath.Glob(s.state + "/*.json")
	must(t, err)
	f, err := os.OpenFile(files[0], os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString(`4231}}`)
	must(t, errors.Join(err, f.Close()))
	if got, err := Restore(s.state); err != nil || len(got) != 1 || got[0].Error != "" {
		t.Errorf("restored %+v, %v", got, err)
	}
	if stat(t, s.path).Ino != inode {
		t.Error("the path was not given back")
	}
	s.untouched(t, "rt.sock")
}

// TestEndsOnce: a connection is one connection also if the runtime has two descriptors of it, so only one goroutine
// asks it to come over.
func TestEndsOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rt.sock")
	l, err := net.Listen("unix", path)
	must(t, err)
	defer l.Close()
	client, err := net.Dial("unix", path)
	must(t, err)
	defer client.Close()
	accepted, err := l.Accept()
	must(t, err)
	defer accepted.Close()
	second, err := accepted.(*net.UnixConn).File()
	must(t, err)
	defer second.Close()
	p, err := openProcess(os.Getpid())
	must(t, err)
	defer p.Close()
	ends, err := p.connectionEnds(path, func(peer int) bool { return peer == os.Getpid() }, map[uint64]bool{})
	must(t, err)
	defer closeAll(ends)
	if len(ends) != 1 {
		t.Errorf("the connection is found %d times, want once", len(ends))
	}
}
