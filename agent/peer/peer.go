// Package peer says who is at the other end of a unix socket, as the kernel
// knows it. The agent asks it of its clients, and clients ask it of the agent.
package peer

import (
	"errors"
	"fmt"
	"net"
)

// Process is the one at the other end.
type Process struct {
	Pid int32
	Uid uint32
}

// Of is who connected, or on the side of who did, who made the socket listen.
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
	err = raw.Control(func(fd uintptr) { p, askErr = ask(int(fd)) })
	if err = errors.Join(err, askErr); err != nil {
		return nil, fmt.Errorf("read peer: %w", err)
	}
	return p, nil
}

// Trusted reports whether a process of that user may be spoken to by one of own:
// root and oneself may.
func Trusted(uid uint32, own int) bool { return uid == 0 || int(uid) == own }
