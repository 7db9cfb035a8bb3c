package relayproc

import (
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/cri/takeover"
)

// linkName returns the socket by which the relay process of a path is found.
func linkName(o Options) (string, error) {
	state, err := takeover.StateFile(o.Dir, o.Root, o.Path)
	if err != nil {
		return "", err
	}
	return takeover.LinkFile(state), nil
}

// withShortName calls do with a name for the file that is short enough for a socket's address.
func withShortName(file string, do func(name string) error) error {
	dir, err := unix.Open(filepath.Dir(file), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return do(fmt.Sprintf("/proc/self/fd/%d/%s", dir, filepath.Base(file)))
}

// listenAt makes the socket by which the relay process is found. The caller has the path's state locked, so it may
// remove what a dead process has left.
func listenAt(o Options) (l *net.UnixListener, err error) {
	file, err := linkName(o)
	if err != nil {
		return nil, err
	}
	_ = os.Remove(file)
	err = withShortName(file, func(name string) error {
		l, err = net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
		if err != nil {
			return err
		}
		l.SetUnlinkOnClose(false)
		return os.Chmod(file, 0o600)
	})
	return l, err
}

// dialLink connects to the relay process of a path.
func dialLink(o Options) (c *net.UnixConn, err error) {
	file, err := linkName(o)
	if err != nil {
		return nil, err
	}
	err = withShortName(file, func(name string) error {
		c, err = net.DialUnix("unix", nil, &net.UnixAddr{Name: name, Net: "unix"})
		return err
	})
	return c, err
}

// peerOf returns the process at the other end of a link. ok is false if it is another user's.
func peerOf(c *net.UnixConn) (pid int, ok bool) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, false
	}
	var cred *unix.Ucred
	if rerr := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); rerr != nil || err != nil {
		return 0, false
	}
	return int(cred.Pid), int(cred.Uid) == os.Geteuid()
}
