package takeover

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestTakeAndGive: meanwhile connections to the path come to us. Afterwards all is as before.
func TestTakeAndGive(t *testing.T) {
	s := newSetup(t)
	rt := play(t, "echo", s.path)
	if err := os.Chmod(s.path, 0o660); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		if err := os.Chown(s.path, 1, 2); err != nil {
			t.Fatal(err)
		}
	}
	before := stat(t, s.path)
	tk := s.take(t)
	if got := tk.RuntimePID(); got != rt.pid() {
		t.Errorf("the runtime is process %d, want %d", got, rt.pid())
	}
	during := stat(t, s.path)
	if during.Ino == before.Ino || during.Mode != before.Mode || during.Uid != before.Uid || during.Gid != before.Gid {
		t.Errorf("ours is %+v, of the runtime's %+v", during, before)
	}
	if err := round(s.path); err != nil {
		t.Error(err)
	}
	if s.relay.conns.Load() != 1 {
		t.Errorf("%d connections came to us, want 1", s.relay.conns.Load())
	}
	s.give(t, tk)
	s.give(t, tk)
	after := stat(t, s.path)
	if after.Ino != before.Ino || after.Dev != before.Dev || after.Mode != before.Mode ||
		after.Uid != before.Uid || after.Gid != before.Gid || after.Nlink != before.Nlink {
		t.Errorf("after it the socket is %+v, before it was %+v", after, before)
	}
	if err := round(s.path); err != nil {
		t.Error(err)
	}
	if s.relay.conns.Load() != 1 {
		t.Error("a connection came to us when the path was given back")
	}
	s.untouched(t, "rt.sock")
}

// TestNoGap: a client that connects while the path changes hands, again and again, is served each time. No file is
// left open.
func TestNoGap(t *testing.T) {
	s := newSetup(t)
	play(t, "echo", s.path)
	cycle := func() {
		tk := s.take(t)
		s.give(t, tk)
	}
	cycle()
	files := openFiles(t)
	var stop atomic.Bool
	var rounds atomic.Int64
	var hammer sync.WaitGroup
	for range 3 {
		hammer.Go(func() {
			for !stop.Load() {
				if err := round(s.path); err != nil {
					t.Errorf("round %d: %v", rounds.Load(), err)
					return
				}
				rounds.Add(1)
			}
		})
	}
	cycles := 50
	if testing.Short() {
		cycles = 10
	}
	for range cycles {
		cycle()
		if t.Failed() {
			break
		}
	}
	stop.Store(true)
	hammer.Wait()
	t.Logf("%d rounds in %d cycles, %d of them through us", rounds.Load(), cycles, s.relay.conns.Load())
	if s.relay.conns.Load() == 0 || s.relay.fails.Load() > 0 {
		t.Errorf("%d connections came to us, %d of them could not be passed on", s.relay.conns.Load(), s.relay.fails.Load())
	}
	until(t, "files are closed", func() bool { return openFiles(t) <= files })
	s.untouched(t, "rt.sock")
}

// openFiles counts our open files.
func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// until waits for a state that must come.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	late := time.Now().Add(30 * time.Second)
	for !is() {
		if time.Now().After(late) {
			t.Fatalf("still not so: %s", what)
		}
		runtime.Gosched()
		time.Sleep(time.Millisecond)
	}
}

// TestLinks: the socket is where links lead, seen from the kubelet's root. The links stay.
func TestLinks(t *testing.T) {
	for _, c := range []struct{ name, link, to string }{
		{"the socket, absolute", "/run/other.sock", "/run/rt.sock"},
		{"the socket, relative", "/run/other.sock", "rt.sock"},
		{"the directory, absolute", "/var", "/run"},
		{"the directory, relative", "/var", "run"},
		{"out of the root", "/var", "../../../../run"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSetup(t)
			play(t, "echo", s.path)
			root := filepath.Dir(s.dir)
			if err := os.Symlink(c.to, filepath.Join(root, c.link)); err != nil {
				t.Fatal(err)
			}
			path := c.link
			if !strings.HasSuffix(path, ".sock") {
				path += "/rt.sock"
			}
			tk := s.take(t, func(o *Options) { o.Root, o.Path = root, path })
			if err := round(s.path); err != nil || s.relay.conns.Load() != 1 {
				t.Errorf("%d connections came to us: %v", s.relay.conns.Load(), err)
			}
			if to, err := os.Readlink(filepath.Join(root, c.link)); err != nil || to != c.to {
				t.Errorf("the link leads to %s: %v", to, err)
			}
			s.give(t, tk)
			if err := round(s.path); err != nil || s.relay.conns.Load() != 1 {
				t.Errorf("%d connections came to us: %v", s.relay.conns.Load(), err)
			}
		})
	}
}

// TestRefused: obstacles are reported before anything is changed.
func TestRefused(t *testing.T) {
	long := strings.Repeat("x", 80) + ".sock"
	for _, c := range []struct {
		name string
		make func(t *testing.T, s *setup)
		want string
	}{
		{"nothing there", func(*testing.T, *setup) {}, "start the runtime, which makes it"},
		{"a file", func(t *testing.T, s *setup) { write(t, s.path) }, "it is not a socket"},
		{"no directory", func(t *testing.T, s *setup) { s.path = filepath.Join(s.dir, "none", "rt.sock") }, "no such file or directory"},
		{"nobody listens", func(t *testing.T, s *setup) { dead(t, s.path) }, "nobody listens on it"},
		{"not absolute", func(t *testing.T, s *setup) { s.path = "rt.sock" }, "must be absolute"},
		{"a circle", func(t *testing.T, s *setup) {
			if err := os.Symlink("rt.sock", s.path); err != nil {
				t.Fatal(err)
			}
		}, "in a circle"},
		{"a long name", func(t *testing.T, s *setup) {
			s.path = filepath.Join(s.dir, long)
			s.serveLong(t, long)
		}, "a shorter one"},
		{"a file of our name", func(t *testing.T, s *setup) {
			play(t, "echo", s.path)
			write(t, s.path+suffix)
		}, "is not a socket of podstep's"},
		{"another podstep", func(t *testing.T, s *setup) {
			play(t, "echo", s.path)
			play(t, "holder", s.path, s.state)
		}, "end that one first"},
		{"another podstep with its state elsewhere", func(t *testing.T, s *setup) {
			play(t, "echo", s.path)
			play(t, "holder", s.path, s.state)
			s.state += "2"
		}, "end that one first"},
		{"no guard", func(t *testing.T, s *setup) { play(t, "echo", s.path) }, "guard"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSetup(t)
			c.make(t, s)
			before := listed(t, s.dir)
			o := s.options()
			if c.name == "no guard" {
				o.GuardCommand = []string{"/bin/true"}
			}
			tk, err := Take(t.Context(), o)
			if err == nil {
				s.give(t, tk)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if got := listed(t, s.dir); got != before {
				t.Errorf("in the directory was %s and is %s", before, got)
			}
		})
	}
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// dead makes a socket that is not served.
func dead(t *testing.T, path string) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
}

// serveLong listens on a name that is longer than a path may be.
func (s *setup) serveLong(t *testing.T, name string) {
	t.Helper()
	short := filepath.Join(s.dir, "s")
	play(t, "echo", short)
	if err := os.Rename(short, filepath.Join(s.dir, name)); err != nil {
		t.Fatal(err)
	}
}

// listed returns a directory's names with their inodes.
func listed(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		st := stat(t, filepath.Join(dir, e.Name()))
		b.WriteString(e.Name() + " ")
		b.WriteString(time.Unix(0, int64(st.Ino)).UTC().Format("05.000000000 "))
	}
	return b.String()
}

// TestFileSystem: if no file can be made, nothing is changed and the error has the reason.
func TestFileSystem(t *testing.T) {
	needRoot(t)
	for _, c := range []struct {
		name, options, want string
		flags               uintptr
	}{
		{"full", "size=64k,nr_inodes=3", "file system is full", 0},
		{"read-only", "", "read-only", unix.MS_RDONLY},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSetup(t)
			if err := unix.Mount("none", s.dir, "tmpfs", 0, c.options); err != nil {
				t.Skipf("no tmpfs can be mounted: %v", err)
			}
			t.Cleanup(func() { _ = unix.Unmount(s.dir, unix.MNT_DETACH) })
			play(t, "echo", s.path)
			switch c.name {
			case "full":
				write(t, filepath.Join(s.dir, "last"))
			default:
				if err := unix.Mount("none", s.dir, "", unix.MS_REMOUNT|c.flags, ""); err != nil {
					t.Fatal(err)
				}
			}
			before := listed(t, s.dir)
			_, err := Take(t.Context(), s.options())
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if got := listed(t, s.dir); got != before {
				t.Errorf("in the directory was %s and is %s", before, got)
			}
			if err := round(s.path); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestConnectionsComeOver: a kubelet with calls in a loop, and a long one, all
// over one connection, loses none.
func TestConnectionsComeOver(t *testing.T) {
	needRoot(t)
	s := newSetup(t)
	rt := play(t, "server", s.path)
	kubelet, other := play(t, "client", s.path), play(t, "client", s.path)
	start := time.Now()
	tk := s.take(t, func(o *Options) { o.Kubelet = func(pid int) bool { return pid == kubelet.pid() } })
	t.Logf("taken in %s", time.Since(start))
	if tk.RuntimePID() != rt.pid() {
		t.Errorf("the runtime is process %d, want %d", tk.RuntimePID(), rt.pid())
	}
	until(t, "calls come through us", func() bool { return s.relay.bytes.Load() > 100_000 })
	t.Logf("calls come through us after %s", time.Since(start))
	// The long call keeps the old connection, and only that.
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	left, err := tk.Came(ctx)
	cancel()
	if err != nil || len(left) != 1 || left[0].PID != kubelet.pid() || left[0].Asked.IsZero() {
		t.Errorf("left are %+v, %v", left, err)
	}
	if got := kubelet.ask("finish"); got != "<nil>" {
		t.Errorf("the long call: %s", got)
	}
	if left, err := tk.Came(t.Context()); len(left) > 0 || err != nil {
		t.Errorf("left are %+v, %v", left, err)
	}
	if got := s.relay.conns.Load(); got != 1 {
		t.Errorf("%d connections came to us, want the kubelet's alone", got)
	}
	for name, c := range map[string]*child{"kubelet": kubelet, "other": other} {
		calls, failed, line := c.counts()
		if failed > 0 || calls == 0 {
			t.Errorf("%s: %s", name, line)
		}
		t.Logf("%s: %d calls", name, calls)
	}
}

// TestForced: a connection that is never quiet is shut down if ForceAfter is set, and only then.
func TestForced(t *testing.T) {
	needRoot(t)
	s := newSetup(t)
	play(t, "echo", s.path)
	stuffer := play(t, "stuffer", s.path)
	kubelet := func(o *Options) { o.Kubelet = func(pid int) bool { return pid == stuffer.pid() } }
	tk := s.take(t, kubelet)
	s.notes.wait(t, ConnectionBusy)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if left, err := tk.Came(ctx); len(left) != 1 || err != nil || !left[0].Asked.IsZero() || !left[0].Forced.IsZero() {
		t.Errorf("left are %+v, %v", left, err)
	}
	s.give(t, tk)
	tk = s.take(t, kubelet, func(o *Options) { o.ForceAfter = time.Millisecond })
	s.notes.wait(t, ConnectionForced)
	if got := stuffer.line(); got != "ended" {
		t.Errorf("the connection: %s", got)
	}
	if left, err := tk.Came(t.Context()); len(left) > 0 || err != nil {
		t.Errorf("left are %+v, %v", left, err)
	}
}
