package server

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Listen makes the agent's socket, for its owner only. It replaces a socket that no process serves any more. If one is
// served, it returns an error.
func Listen(path string) (net.Listener, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("make agent socket: %w", err)
	}
	if fi, err := os.Lstat(path); err == nil {
		if fi.Mode()&os.ModeSocket == 0 {
			return nil, fmt.Errorf("make agent socket: %s exists and is not a socket; choose another with PODSTEP_SOCKET", path)
		}
		if c, err := net.DialTimeout("unix", path, time.Second); err == nil {
			_ = c.Close()
			return nil, fmt.Errorf("make agent socket: another agent serves %s", path)
		}
	}
	// Under its final name the socket never has a mode but 0600.
	tmp := fmt.Sprintf("%s.%d", path, os.Getpid())
	_ = os.Remove(tmp)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: tmp, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("make agent socket: %w", err)
	}
	l.SetUnlinkOnClose(false)
	err = os.Chmod(tmp, 0o600)
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		_ = l.Close()
		_ = os.Remove(tmp)
		return nil, fmt.Errorf("make agent socket: %w", err)
	}
	return &socket{Listener: l, path: path, inode: inode(path)}, nil
}

// socket removes its file when closed, if it is still its own.
type socket struct {
	net.Listener
	path  string
	inode uint64
	once  sync.Once
}

func (s *socket) Close() error {
	s.once.Do(func() {
		if inode(s.path) == s.inode {
			_ = os.Remove(s.path)
		}
	})
	return s.Listener.Close()
}

func inode(path string) uint64 {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return 0
	}
	return st.Ino
}
