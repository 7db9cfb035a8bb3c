package takeover

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// security asks SELinux for the domains of processes, and sets the domain of a socket. The client's domain must be
// allowed to connect to the listener's domain (connectto), whatever the label of the socket's file. A policy lets
// the kubelet connect to its runtime, and to no podstep. So our socket is made in the runtime's domain.
type security struct {
	// mounted: SELinux's own file system is there, so SELinux is on.
	mounted bool
	read    func(file string) ([]byte, error)
	write   func(file string, b []byte) error
}

const (
	selinuxDir = "/sys/fs/selinux"
	// Other security modules have no such file to read, or refuse to read it.
	createAttr = "/proc/thread-self/attr/sockcreate"
	ownAttr    = "/proc/thread-self/attr/current"
)

// newSecurity asks the kernel.
func newSecurity() security {
	var st unix.Statfs_t
	err := unix.Statfs(selinuxDir, &st)
	return security{mounted: err == nil && uint32(st.Type) == unix.SELINUX_MAGIC, read: os.ReadFile, write: writeAttr}
}

// writeAttr also writes empty text, which resets an attribute.
func writeAttr(file string, b []byte) error {
	fd, err := unix.Open(file, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, b)
	return err
}

// domainFor returns the domain in which a socket in the runtime's place must be made; "" if it is made in that
// anyway.
func (s security) domainFor(runtime int) (string, error) {
	if _, err := s.read(createAttr); err != nil {
		if s.mounted {
			return "", fmt.Errorf("%w: SELinux is on, and cannot be told the domain of a socket: %w", errRights, err)
		}
		return "", nil
	}
	own, err := s.domain(ownAttr)
	if err != nil {
		return "", fmt.Errorf("%w: look at podstep's SELinux domain: %w", errRights, err)
	}
	if !isDomain(own) && !s.mounted {
		return "", nil
	}
	if runtime == 0 {
		return "", fmt.Errorf("%w: the runtime's process is out of sight, and so is its SELinux domain", errRights)
	}
	its, err := s.domain(fmt.Sprintf("/proc/%d/attr/current", runtime))
	if err != nil {
		return "", fmt.Errorf("%w: look at the SELinux domain of process %d: %w", errRights, runtime, err)
	}
	if its == own {
		return "", nil
	}
	return its, nil
}

func (s security) domain(file string) (string, error) {
	b, err := s.read(file)
	return strings.TrimRight(string(b), "\x00\n"), err
}

// isDomain tells a context of SELinux, user:role:type:level, from what other security modules report of a process.
func isDomain(s string) bool { return strings.Count(s, ":") >= 2 && !strings.ContainsAny(s, " /") }

// socket makes a socket in a domain.
func (s security) socket(domain string) (fd int, err error) {
	if domain == "" {
		return newSocket()
	}
	made := make(chan struct{})
	go func() {
		defer close(made)
		fd, err = s.socketOnThread(domain)
	}()
	<-made
	return fd, err
}

// socketOnThread sets an attribute that the kernel keeps for one thread. If the thread cannot be reset, it ends
// with the goroutine, which stays locked to it.
func (s security) socketOnThread(domain string) (int, error) {
	runtime.LockOSThread()
	if err := s.write(createAttr, []byte(domain)); err != nil {
		runtime.UnlockOSThread()
		return -1, fmt.Errorf("%w: SELinux does not let podstep make a socket in the runtime's domain, %s: %w", errRights, domain, err)
	}
	fd, err := newSocket()
	if err != nil {
		err = fmt.Errorf("in the runtime's SELinux domain, %s: %w", domain, err)
	}
	if reset := s.write(createAttr, nil); reset == nil {
		runtime.UnlockOSThread()
	}
	return fd, err
}

func newSocket() (int, error) {
	return unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
}
