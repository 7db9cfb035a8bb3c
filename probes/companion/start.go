package companion

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// linkFD is the companion's end of the link, its first file after stderr.
const linkFD = 3

// Start starts a companion: this program in that role, or the command if one is given. It
// returns the link to it. The companion is no child that ends with this process, and no
// signal of the terminal gets to it.
func Start(role string, command []string) (*net.UnixConn, error) {
	if len(command) == 0 {
		command = []string{"/proc/self/exe", role}
	}
	// A program that does not know the role, and does what it always does, would start
	// another, and that one more, and so on.
	if os.Getenv(env) != "" {
		return nil, fmt.Errorf("start %s process: this process was started to be one itself", role)
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("start %s process: %w", role, err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "link"), os.NewFile(uintptr(fds[1]), "link")
	defer ours.Close()
	defer theirs.Close()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Args[0], cmd.Dir, cmd.Env = "podstep", "/", []string{env + "=" + role} // so that ps shows whose it is
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s process: %w", role, err)
	}
	go func() { _ = cmd.Wait() }()
	c, err := net.FileConn(ours)
	if err != nil {
		return nil, fmt.Errorf("start %s process: %w", role, err)
	}
	return c.(*net.UnixConn), nil //nolint:forcetypeassert // a socketpair is one
}

// env has a companion's role.
const env = "PODSTEP_COMPANION"

// Link is a companion's end of the link to who started it. The process is from then on
// deaf to the signals that end others: who ends podstep often sends one to all that belong
// to it. The error is that nobody started it as a companion.
func Link() (*net.UnixConn, error) {
	signal.Ignore(unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGPIPE, unix.SIGTSTP, unix.SIGUSR1, unix.SIGUSR2)
	if _, err := unix.Getpeername(linkFD); err != nil {
		return nil, err
	}
	unix.CloseOnExec(linkFD)
	f := os.NewFile(linkFD, "link")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	u, ok := c.(*net.UnixConn)
	if !ok {
		return nil, errors.New("the link is no unix socket")
	}
	return u, nil
}
