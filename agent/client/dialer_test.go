package client

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/agenttest"
)

// somebody returns a user that is neither root nor the one that runs the test.
func somebody() int {
	if os.Getuid() == 65534 {
		return 65533
	}
	return 65534
}

// listenAs makes a socket at a path that is root's, with a listener that is another user's.
func listenAs(t *testing.T, path string, uid int) net.Listener {
	t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	listens := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread becomes another user's, and must end with the goroutine
		_, _, failed := unix.RawSyscall(unix.SYS_SETRESUID, uintptr(uid), uintptr(uid), uintptr(uid))
		if failed != 0 {
			listens <- failed
			return
		}
		listens <- unix.Listen(fd, 8)
	}()
	if err := <-listens; err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	l, err := net.FileListener(f)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// replaced dials an agent, puts another in its place, and returns the error of the next call.
func replaced(t *testing.T, s *socket, by func() net.Listener) error {
	t.Helper()
	l, err := net.Listen("unix", s.path)
	if err != nil {
		t.Fatal(err)
	}
	stop := agenttest.ServeOn(t, &fake{}, l)
	c, err := Reach(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	stop()
	agenttest.ServeOn(t, &fake{}, by())
	// gRPC notices that the connection is gone before or while it is used.
	for {
		_, err := c.Info(t.Context(), &agentpb.InfoRequest{})
		if KindOf(err) != NoAgent {
			return err
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}

// TestReconnectChecks: a connection that replaces a broken one is checked like the first.
func TestReconnectChecks(t *testing.T) {
	for name, other := range map[string]func(t *testing.T, s *socket) net.Listener{
		"another's file": func(t *testing.T, s *socket) net.Listener {
			l, err := net.Listen("unix", s.path)
			if err != nil {
				t.Fatal(err)
			}
			if os.Getuid() == 0 {
				if err := os.Chown(s.path, somebody(), -1); err != nil {
					t.Fatal(err)
				}
			} else {
				s.user.uid = somebody() // to another user, this socket is another's
			}
			return l
		},
		"another's process": func(t *testing.T, s *socket) net.Listener {
			if os.Getuid() != 0 {
				t.Skip("only root can act as another user")
			}
			return listenAs(t, s.path, somebody())
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &socket{filepath.Join(t.TempDir(), "s"), user{os.Getuid(), -1}}
			err := replaced(t, s, func() net.Listener { return other(t, s) })
			if KindOf(err) != Denied || !strings.Contains(err.Error(), "it is not used") {
				t.Errorf("the call ends with kind %d, %v", KindOf(err), err)
			}
			var plain *Error
			if !errors.As(err, &plain) || strings.Contains(plain.Error(), "rpc error") {
				t.Errorf("the error is not a plain one: %v", err)
			}
		})
	}
}

// TestReconnects: the client takes an agent of the same user that replaces the first.
func TestReconnects(t *testing.T) {
	s := &socket{filepath.Join(t.TempDir(), "s"), user{os.Getuid(), -1}}
	err := replaced(t, s, func() net.Listener {
		l, err := net.Listen("unix", s.path)
		if err != nil {
			t.Fatal(err)
		}
		return l
	})
	if err != nil {
		t.Error(err)
	}
}
