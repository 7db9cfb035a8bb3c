package takeover

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	backlog      = 4096                 // the kernel takes less if it is set to less
	maxBound     = 107                  // bytes of a socket's path
	queueFull    = 5 * time.Millisecond // the wait when a listener's queue is full
	dialPatience = 5 * time.Second
)

// listen makes a socket of ours to which the same processes may connect as to like, which process serves.
func (p *place) listen(name string, like pinned, process int) (*net.UnixListener, fileID, error) {
	fd, err := socketLike(process)
	if err != nil {
		return nil, fileID{}, fmt.Errorf("make socket: %w", err)
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	if len(p.shortPath(name)) > maxBound {
		return nil, fileID{}, fmt.Errorf("make socket %s: %w", name, unix.ENAMETOOLONG)
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: p.shortPath(name)}); err != nil {
		return nil, fileID{}, fmt.Errorf("make socket %s: %w", name, err)
	}
	l, id, err := p.dress(f, name, like)
	if err != nil {
		_ = unix.Unlinkat(p.dir, name, 0)
		return nil, fileID{}, fmt.Errorf("make socket %s: %w", name, err)
	}
	return l, id, nil
}

// socketLike makes a socket for which SELinux has the same rules as for those of a process.
func socketLike(process int) (int, error) {
	s := newSecurity()
	domain, err := s.domainFor(process)
	if err != nil {
		return -1, err
	}
	return s.socket(domain)
}

// dress gives a bound socket the rights of another one, and lets it listen.
func (p *place) dress(f *os.File, name string, like pinned) (*net.UnixListener, fileID, error) {
	own, err := p.pin(name)
	if err != nil {
		return nil, fileID{}, err
	}
	defer own.close()
	if !own.socket {
		return nil, fileID{}, errNoSocket
	}
	if err := own.dressAs(like); err != nil {
		return nil, fileID{}, err
	}
	if err := unix.Listen(int(f.Fd()), backlog); err != nil {
		return nil, fileID{}, fmt.Errorf("listen: %w", err)
	}
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fileID{}, fmt.Errorf("listen: %w", err)
	}
	return l.(*net.UnixListener), own.id, nil
}

// pinned is a socket's file held open, whatever names it has or loses.
type pinned struct {
	fd int
	file
}

func (p *place) pin(name string) (pinned, error) {
	fd, err := unix.Openat(p.dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return pinned{fd: -1}, err
	}
	f, err := statOf(fd)
	if err != nil {
		_ = unix.Close(fd)
		return pinned{fd: -1}, err
	}
	return pinned{fd: fd, file: f}, nil
}

func (s pinned) close() {
	if s.fd >= 0 {
		_ = unix.Close(s.fd)
	}
}

// dial connects to the socket. It names the file itself, so no rename can come between.
func (s pinned) dial(ctx context.Context) (*net.UnixConn, error) {
	for {
		c, err := new(net.Dialer).DialContext(ctx, "unix", s.path())
		if err == nil {
			return c.(*net.UnixConn), nil
		}
		// Unix sockets have no queue of their own to wait in.
		if !errors.Is(err, unix.EAGAIN) {
			return nil, err
		}
		select {
		case <-time.After(queueFull):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// served states which process serves a name.
type served struct {
	alive bool
	pid   int // the process that made the socket listen; 0 if it is out of our sight
}

// whoServes finds out, by connecting, whether and by which process a name is served.
func (p *place) whoServes(name string) served {
	s, err := p.pin(name)
	if err != nil || !s.socket {
		return served{}
	}
	defer s.close()
	return s.served()
}

func (s pinned) served() served {
	ctx, cancel := context.WithTimeout(context.Background(), dialPatience)
	defer cancel()
	c, err := s.dial(ctx)
	if err != nil {
		// Only this error means that no process listens: a queue may be full, a right missing.
		return served{alive: !errors.Is(err, unix.ECONNREFUSED)}
	}
	defer c.Close()
	return served{alive: true, pid: peerOf(c)}
}

// peerOf returns the process at the other end, or 0.
func peerOf(c *net.UnixConn) int {
	pid := 0
	control(c, func(fd int) {
		if u, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = int(u.Pid)
		}
	})
	return pid
}

// boundName returns the name with which the other end's socket was made. It may lead nowhere for us: the maker had
// its own root directory.
func boundName(c *net.UnixConn) string {
	name := ""
	control(c, func(fd int) {
		if sa, err := unix.Getpeername(fd); err == nil {
			if u, ok := sa.(*unix.SockaddrUnix); ok {
				name = u.Name
			}
		}
	})
	return name
}

func control(c *net.UnixConn, do func(fd int)) {
	if raw, err := c.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { do(int(fd)) })
	}
}
