package takeover

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestStillMounted: when the path is given back, a note names a container that has mounted our socket's file, but
// not one that has mounted the runtime's.
func TestStillMounted(t *testing.T) {
	needRoot(t)
	for _, early := range []bool{true, false} {
		s := newSetup(t)
		play(t, "echo", s.path)
		at := filepath.Join(filepath.Dir(s.dir), "at here")
		write(t, at)
		var container *child
		mount := func() { container = play(t, "mounter", s.path, at) }
		if early {
			mount()
		}
		tk := s.take(t)
		if !early {
			mount()
		}
		s.give(t, tk)
		// There are no more notes: it is given back.
		close(s.notes)
		noted := ""
		for n := range s.notes {
			noted += n.What + ": " + n.Text
		}
		want := ""
		if !early {
			want = fmt.Sprintf("%s: podstep's socket, which is closed now, is mounted by process %d (\"exe\") at %q: restart", StillMounted, container.pid(), at)
		}
		if !strings.HasPrefix(noted, want) || (noted == "") != early {
			t.Errorf("it is said %q, want %q", noted, want)
		}
	}
}

func TestMountPoint(t *testing.T) {
	for line, want := range map[string]string{
		"1 2 0:27 /run/x.sock /var/x.sock rw - tmpfs tmpfs rw":                       "/var/x.sock",
		`1 2 0:27 /run/x.sock.podstep//deleted /a\040b rw shared:3 - tmpfs tmpfs rw`: "/a b",
		"1 2 0:27 /run/y.sock /run/x.sock rw - tmpfs tmpfs rw":                       "",
		"1 2 0:27 / /run rw - tmpfs tmpfs rw":                                        "",
		"1 2":                                                                        "",
		"":                                                                           "",
	} {
		if got, ok := mountPoint(line, "x.sock"); got != want || ok != (want != "") {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}
