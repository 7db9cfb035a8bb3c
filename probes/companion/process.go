package companion

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Process is a process that cannot be mistaken for a later one with its number.
type Process struct {
	PID  int
	file *os.File // a pidfd
}

// OpenProcess opens the process that has a number now.
func OpenProcess(pid int) (*Process, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, fmt.Errorf("open process %d: %w", pid, err)
	}
	// Since 5.10 Linux can open it so at once.
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("open process %d: %w", pid, err)
	}
	return &Process{PID: pid, file: os.NewFile(uintptr(fd), fmt.Sprintf("process %d", pid))}, nil
}

// Close ends Wait. The process itself goes on.
func (p *Process) Close() { _ = p.file.Close() }

// Control calls a function with the process's pidfd, unless it is closed.
func (p *Process) Control(do func(pidfd int)) error {
	raw, err := p.file.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Control(func(fd uintptr) { do(int(fd)) })
}

// Kill ends the process at once.
func (p *Process) Kill() {
	_ = p.Control(func(fd int) { _ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) })
}

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	gone := false
	_ = p.Control(func(fd int) { gone = readable(fd) })
	return gone
}

// Wait returns when the process has ended, or is closed.
func (p *Process) Wait() {
	if raw, err := p.file.SyscallConn(); err == nil {
		_ = raw.Read(func(fd uintptr) bool { return readable(int(fd)) })
	}
}

func readable(fd int) bool {
	polled := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(polled, 0)
	return err == nil && n > 0
}
