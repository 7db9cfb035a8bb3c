package takeover

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/clock"
	"github.com/podstep/podstep/probes/companion"
)

// TestKilled: however and whenever podstep is killed, the guard gives the path
// back, and leaves nothing behind.
func TestKilled(t *testing.T) {
	s := newSetup(t)
	play(t, "echo", s.path)
	inode := stat(t, s.path).Ino
	var slowest time.Duration
	taken := 0
	for i := range 20 {
		holder := exec.Command("/proc/self/exe", "holder", s.path, s.state)
		in, err := holder.StdinPipe()
		must(t, err)
		must(t, holder.Start())
		// The random moment of the kill is all there is to wait for.
		time.Sleep(time.Duration(rand.IntN(60)) * time.Millisecond)
		if i%2 == 0 {
			until(t, "the path is taken", func() bool { return stat(t, s.path).Ino != inode })
			taken++
		}
		must(t, holder.Process.Kill())
		killed := time.Now()
		_ = holder.Wait()
		_ = in.Close()
		until(t, "all is as before", func() bool { return s.clean(t, inode) })
		slowest = max(slowest, time.Since(killed))
		if err := round(s.path); err != nil {
			t.Fatalf("kill %d: %v", i, err)
		}
	}
	t.Logf("killed 20 times, of these %d when the path was taken; as before after %s at most", taken, slowest)
}

// clean reports whether nothing of podstep's is left.
func (s *setup) clean(t *testing.T, inode uint64) bool {
	t.Helper()
	left, err := os.ReadDir(s.state)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	_, second := os.Lstat(s.path + suffix)
	var st unix.Stat_t
	return len(left) == 0 && os.IsNotExist(second) && unix.Lstat(s.path, &st) == nil && st.Ino == inode && guards(t, s) == 0
}

// guards counts the guard processes for the socket's directory.
func guards(t *testing.T, s *setup) int {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	must(t, err)
	n := 0
	for _, p := range processes {
		line, err := os.ReadFile(p)
		if err != nil || !strings.HasSuffix(string(line), "\x00guard\x00") {
			continue
		}
		files, _ := filepath.Glob(filepath.Dir(p) + "/fd/*")
		for _, f := range files {
			if to, err := os.Readlink(f); err == nil && to == s.dir {
				n++
				break
			}
		}
	}
	return n
}

// TestGuardOutlivesSignals: a signal to podstep's whole group, or to the guard itself, does not end the guard.
func TestGuardOutlivesSignals(t *testing.T) {
	s := newSetup(t)
	rt := play(t, "echo", s.path)
	inode := stat(t, s.path).Ino
	holder := play(t, "holder", s.path, s.state)
	guard := guardOf(t, holder.pid())
	for _, sig := range []unix.Signal{unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT} {
		must(t, unix.Kill(guard, sig))
	}
	holder.kill()
	until(t, "all is as before", func() bool { return s.clean(t, inode) })
	_ = rt
}

// guardOf returns the guard process of a podstep.
func guardOf(t *testing.T, parent int) int {
	t.Helper()
	children, err := filepath.Glob("/proc/[0-9]*/stat")
	must(t, err)
	for _, p := range children {
		b, err := os.ReadFile(p)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
		if fields[1] == itoa(parent) {
			return atoi(t, filepath.Base(filepath.Dir(p)))
		}
	}
	t.Fatalf("process %d has no guard", parent)
	return 0
}

// TestHeartbeats: the guard's calls through the path are reported, each once, with the time that they took.
func TestHeartbeats(t *testing.T) {
	s := newSetup(t)
	play(t, "server", s.path)
	beats := make(chan Heartbeat, 100)
	tk := s.take(t, func(o *Options) { o.Heartbeat = func(b Heartbeat) { beats <- b } })
	var last clock.Time
	for range 3 {
		select {
		case b := <-beats:
			if b.Took <= 0 || b.At <= last {
				t.Errorf("%v at %v, after one at %v", b.Took, b.At, last)
			}
			last = b.At
		case <-t.Context().Done():
			t.Fatal("no heartbeat comes")
		}
	}
	s.give(t, tk)
}

// TestGuardStartsLate: a guard may take longer to start, as on a slow machine, than it may take to answer later.
func TestGuardStartsLate(t *testing.T) {
	s := newSetup(t)
	play(t, "echo", s.path)
	inode := stat(t, s.path).Ino
	self, err := os.Executable()
	must(t, err)
	tk := s.take(t, func(o *Options) {
		o.GuardCommand = []string{"/bin/sh", "-c", fmt.Sprintf("sleep %d; exec %s guard", int(companion.SilentAfter.Seconds())+1, self)}
	})
	must(t, tk.Give(t.Context()))
	if !s.clean(t, inode) {
		t.Error("the path is not as before")
	}
}
