package companion

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// linkFD is the companion's end of the link, its first file after stderr.
const linkFD = 3

// Start starts a companion: this program in that role, or the command if one is given, with settings as its
// environment. It returns the link to it. The companion outlives this process, and gets no signal of the terminal.
func Start(role string, command []string, settings ...string) (*net.UnixConn, error) {
	if len(command) == 0 {
		command = []string{"/proc/self/exe", role}
	}
	// A program that does not know the role would do what it always does: start a companion, which would start
	// another, and so on. So a companion may have one of its own, and that one none.
	above := os.Getenv(env)
	if strings.Contains(above, "/") {
		return nil, fmt.Errorf("start %s process: this process was started to be one itself, by another one", role)
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("start %s process: %w", role, err)
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "link"), os.NewFile(uintptr(fds[1]), "link")
	defer ours.Close()
	defer theirs.Close()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Args[0], cmd.Dir = "podstep", "/" // so that ps shows whose it is
	cmd.Env = append(settings, env+"="+path.Join(above, role))
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

// env is the variable that names a companion's role.
const env = "PODSTEP_COMPANION"

// Link returns a companion's end of the link to the process that started it. From then on the companion ignores the
// signals that end others: a person who ends podstep often signals all processes that belong to it. Link fails if the
// process was not started as a companion.
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
