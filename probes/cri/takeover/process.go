package takeover

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/companion"
)

// process is a process whose connections can be taken.
type process struct{ *companion.Process }

func openProcess(pid int) (*process, error) {
	p, err := companion.OpenProcess(pid)
	if err != nil {
		return nil, err
	}
	return &process{p}, nil
}

// end is a duplicate of a process's end of a connection.
type end struct {
	fd    int
	inode uint64
	peer  int
}

func (e end) close() { _ = unix.Close(e.fd) }

// errNoRight is returned if we have no right to look into a process.
var errNoRight = errors.New("this user may not look into it: run as root, with CAP_SYS_PTRACE")

// connectionEnds returns the process's ends of connections to the named socket, of peers that want accepts. Each
// connection is there once, also if the process has several descriptors of it. The inodes of other sockets are put
// into skip; sockets in skip are not looked at again.
func (p *process) connectionEnds(name string, want func(peer int) bool, skip map[uint64]bool) ([]end, error) {
	dir := filepath.Join("/proc", strconv.Itoa(p.PID), "fd")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("look at the files of process %d: %w", p.PID, rightOr(err))
	}
	var out []end
	there := map[uint64]bool{}
	defer maps.DeleteFunc(skip, func(inode uint64, _ bool) bool { return !there[inode] })
	for _, e := range entries {
		inode := socketInode(dir, e.Name())
		there[inode] = true
		again := slices.ContainsFunc(out, func(e end) bool { return e.inode == inode })
		if inode == 0 || skip[inode] || again {
			continue
		}
		number, _ := strconv.Atoi(e.Name())
		fd, err := p.duplicate(number)
		if errors.Is(err, errNoRight) {
			closeAll(out)
			return nil, fmt.Errorf("take a connection of process %d: %w", p.PID, err)
		}
		if err != nil {
			continue // closed meanwhile
		}
		peer := peerIf(fd, name)
		if peer == 0 || !want(peer) {
			skip[inode] = true
			_ = unix.Close(fd)
			continue
		}
		out = append(out, end{fd: fd, inode: inode, peer: peer})
	}
	return out, nil
}

func closeAll(ends []end) {
	for _, e := range ends {
		e.close()
	}
}

// duplicate gets a duplicate of a file of the process.
func (p *process) duplicate(number int) (fd int, err error) {
	fd = -1
	failed := p.Control(func(own int) { fd, err = unix.PidfdGetfd(own, number, 0) })
	return fd, rightOr(errors.Join(failed, err))
}

func rightOr(err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) {
		return errNoRight
	}
	return err
}

// socketInode returns the inode of a socket in /proc/PID/fd, or 0 for another file.
func socketInode(dir, name string) uint64 {
	to, err := os.Readlink(filepath.Join(dir, name))
	if err != nil {
		return 0
	}
	number, ok := strings.CutPrefix(to, "socket:[")
	if !ok {
		return 0
	}
	inode, _ := strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64)
	return inode
}

// peerIf returns the process that made the connection, if this is the listener's end of a connection to the unix
// socket of that name; otherwise 0.
func peerIf(fd int, name string) int {
	sa, err := unix.Getsockname(fd)
	if err != nil {
		return 0
	}
	if u, ok := sa.(*unix.SockaddrUnix); !ok || u.Name != name {
		return 0
	}
	if listens, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN); err != nil || listens != 0 {
		return 0
	}
	u, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0
	}
	return int(u.Pid)
}

const (
	acceptPatience = 2 * time.Second
	acceptPitch    = 5 * time.Millisecond
)

// holder finds the process that has the other end of a connection of ours. That is not always the process that made
// the socket listen: systemd may have made it, and hands it to the runtime when a client connects.
func holder(ctx context.Context, c *net.UnixConn) (*process, error) {
	maker, name := peerOf(c), boundName(c)
	if maker == 0 {
		return nil, errors.New("find the runtime's process: it is in no process list of ours (podstep must see the host's processes)")
	}
	late := time.After(acceptPatience)
	for {
		for _, pid := range append([]int{maker}, otherMakers(maker)...) {
			p, err := holds(pid, name)
			if p != nil || (err != nil && pid == maker) {
				return p, err
			}
		}
		select {
		case <-time.After(acceptPitch):
		case <-late:
			return nil, notAccepted(c, maker)
		case <-ctx.Done():
			return nil, fmt.Errorf("find the runtime's process: %w", ctx.Err())
		}
	}
}

// notAccepted returns why no process has the other end of a connection of ours.
func notAccepted(c *net.UnixConn, maker int) error {
	ended := false
	control(c, func(fd int) {
		n, _, err := unix.Recvfrom(fd, make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT)
		ended = n == 0 && err == nil || errors.Is(err, unix.ECONNRESET)
	})
	const look = "nothing was changed; look into the runtime's log"
	if ended {
		return fmt.Errorf("process %d listens, and hangs up on who connects: %s", maker, look)
	}
	return fmt.Errorf("process %d listens, but has not accepted a connection within %v, so no new client gets to the runtime: %s", maker, acceptPatience, look)
}

// otherMakers returns the processes to look at when init made the socket listen: then any process may have been
// handed it.
func otherMakers(maker int) []int {
	if maker != 1 {
		return nil
	}
	return slices.DeleteFunc(processes(), func(pid int) bool { return pid == 1 || pid == os.Getpid() })
}

// processes returns the processes that we see, in order.
func processes() (out []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			out = append(out, pid)
		}
	}
	slices.Sort(out)
	return out
}

// holds opens the process if it has the other end of a connection of ours.
func holds(pid int, name string) (*process, error) {
	p, err := openProcess(pid)
	if err != nil {
		return nil, err
	}
	ours, err := p.connectionEnds(name, func(peer int) bool { return peer == os.Getpid() }, map[uint64]bool{})
	closeAll(ours)
	if err != nil || len(ours) == 0 {
		p.Close()
		return nil, err
	}
	return p, nil
}
