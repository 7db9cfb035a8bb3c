package companion

import (
	"fmt"
	"os"
	"strconv"
	"strings"

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
	_ = p.Control(func(fd int) { KillBy(fd, p.PID) })
}

// endsWithin is how long a process that was killed may take to end before it counts as one that something keeps, in
// milliseconds.
const endsWithin = 100

// KillBy ends the process of a pidfd, whose number is pid. In a frozen control group of version 1 a process that was killed
// stays, with all that it has open: its clients wait, and what it traces stands still. So a process that stays has to leave its
// group. Until then its number is its own.
func KillBy(pidfd, pid int) {
	if unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0) == nil && !endsIn(pidfd, endsWithin) {
		leaveGroups(pid)
	}
}

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	gone := false
	_ = p.Control(func(fd int) { gone = endsIn(fd, 0) })
	return gone
}

// Wait returns when the process has ended, or is closed.
func (p *Process) Wait() {
	if raw, err := p.file.SyscallConn(); err == nil {
		_ = raw.Read(func(fd uintptr) bool { return endsIn(int(fd), 0) })
	}
}

// Killed reports whether a process was killed and is still there, as while it waits for a device, or in a frozen control
// group of version 1 if KillBy did not end it. It does nothing any more: the signal comes before all that it could do.
func Killed(pid int) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(text)) {
		name, mask, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name != "SigPnd" && name != "ShdPnd" {
			continue
		}
		if pending, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64); err == nil && pending&(1<<(unix.SIGKILL-1)) != 0 {
			return true
		}
	}
	return false
}

// endsIn reports whether the process of a pidfd ends within so many milliseconds.
func endsIn(pidfd, milliseconds int) bool {
	polled := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
	n, err := unix.Poll(polled, milliseconds)
	return err == nil && n > 0
}
