// Package peer finds the process at the other end of a unix socket, as the kernel knows it. The agent asks for its
// clients' processes, and clients for the agent's.
package peer

import (
	"errors"
	"fmt"
	"net"
)

// Process is the process at the other end.
type Process struct {
	Pid int32
	Uid uint32
}

// Of returns the process at the other end of a connection. For the server that is the process that connected. For the
// client it is the process that made the socket listen.
func Of(c net.Conn) (*Process, error) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return nil, errors.New("read peer: it is no connection over a unix socket")
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("read peer: %w", err)
	}
	var p *Process
	var askErr error
	err = raw.Control(func(fd uintptr) { p, askErr = askKernel(int(fd)) })
	if err = errors.Join(err, askErr); err != nil {
		return nil, fmt.Errorf("read peer: %w", err)
	}
	return p, nil
}

// Trusted reports whether a process of user own may speak to a process of user uid: only to its own user's and to
// root's.
func Trusted(uid uint32, own int) bool { return uid == 0 || int(uid) == own }
