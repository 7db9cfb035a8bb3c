//go:build unix

package dap

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"github.com/podstep/podstep/agent/peer"
)

// Listen makes a socket for editors of this user, and of root, alone. It replaces a socket that nobody serves any more.
// It is called before the program has goroutines that make files: the mode of the socket comes by the process's umask.
func Listen(path string) (net.Listener, error) {
	if fi, err := os.Lstat(path); err == nil {
		if fi.Mode()&os.ModeSocket == 0 {
			return nil, fmt.Errorf("listen at %s: it exists and is not a socket; name another path", path)
		}
		c, err := net.Dial("unix", path)
		if err == nil {
			_ = c.Close()
			return nil, fmt.Errorf("listen at %s: another program serves it; name another path", path)
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return nil, fmt.Errorf("listen at %s: %w", path, err)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("listen at %s: remove the former socket: %w", path, err)
		}
	}
	before := syscall.Umask(0o177)
	l, err := net.Listen("unix", path)
	syscall.Umask(before)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", path, err)
	}
	return guarded{l}, nil
}

// guarded lets in only root and the user of this process.
type guarded struct{ net.Listener }

func (g guarded) Accept() (net.Conn, error) {
	for {
		c, err := g.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if from, err := peer.Of(c); err == nil && peer.Trusted(from.Uid, os.Getuid()) {
			return c, nil
		}
		_ = c.Close()
	}
}
