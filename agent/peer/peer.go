// Package peer says who is at the other end of a unix socket, as the kernel
// knows it. The agent asks it of its clients, and clients ask it of the agent.
package peer

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// Of is who connected, or on the side of who did, who made the socket listen.
func Of(c net.Conn) (*unix.Ucred, error) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return nil, errors.New("read peer: it is no connection over a unix socket")
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("read peer: %w", err)
	}
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) { cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err = errors.Join(err, credErr); err != nil {
		return nil, fmt.Errorf("read peer: %w", err)
	}
	return cred, nil
}

// Trusted reports whether a process of that user may be spoken to by one of own:
// root and oneself may.
func Trusted(uid uint32, own int) bool { return uid == 0 || int(uid) == own }
