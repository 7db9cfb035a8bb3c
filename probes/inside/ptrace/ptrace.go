//go:build linux

// Package ptrace traces the threads of another process: the hold process those of a kubelet, and the rescuer process
// those of a kubelet and of the debugger process. All of its functions are for the thread that calls them. A caller
// keeps to one thread, as companion.OnThread does, because the kernel takes that thread for the tracer.
package ptrace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/inside/park"
)

// Call makes a request of ptrace(2) that golang.org/x/sys has no function for.
func Call(request, tid int, addr, data uintptr) error {
	if _, _, errno := unix.Syscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), addr, data, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// Threads returns the threads of a process that have not ended.
func Threads(pid int) (all []int, err error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil, fmt.Errorf("look at the threads of process %d: %w", pid, err)
	}
	for _, e := range entries {
		if tid, _ := strconv.Atoi(e.Name()); !ends(pid, tid) {
			all = append(all, tid)
		}
	}
	return all, nil
}

// ends reports whether a thread is ending, or has ended.
func ends(pid, tid int) bool {
	state := park.StatusOf(fmt.Sprintf("/proc/%d/task/%d", pid, tid), "State")
	return state == "" || state[0] == 'Z' || state[0] == 'X'
}

// errEnds is the error of a thread that has ended.
var errEnds = fmt.Errorf("the thread has ended: %w", unix.ESRCH)

// Seize begins to trace a thread, which runs on. The error states why it cannot; it is unix.ESRCH if the thread has
// ended.
func Seize(pid, tid int, options uintptr) error {
	err := Call(unix.PTRACE_SEIZE, tid, 0, options)
	switch {
	case err == nil:
		return nil
	case err == unix.ESRCH || ends(pid, tid):
		return errEnds
	}
	return notTraced(pid, tid, err)
}

// SeizeAll begins to trace all threads of a process that are not known yet, until it finds no more. It calls begun with
// each. With unix.PTRACE_O_TRACECLONE in options, threads that a traced one has made are traced already.
func SeizeAll(pid int, options uintptr, known func(tid int) bool, begun func(tid int)) error {
	for fresh := true; fresh; {
		fresh = false
		all, err := Threads(pid)
		if err != nil {
			return err
		}
		for _, tid := range all {
			if known(tid) {
				continue
			}
			err := Seize(pid, tid, options)
			switch {
			case errors.Is(err, unix.ESRCH):
				continue
			case err != nil && park.TracerOf(pid, tid) != os.Getpid():
				return err
			}
			begun(tid)
			fresh = fresh || err == nil
		}
	}
	return nil
}

// StopsProcess reports whether a signal stops a whole process.
func StopsProcess(s unix.Signal) bool {
	return s == unix.SIGSTOP || s == unix.SIGTSTP || s == unix.SIGTTIN || s == unix.SIGTTOU
}

// notTraced returns the error that a thread cannot be traced, with the reason.
func notTraced(pid, tid int, err error) error {
	if other := park.TracerOf(pid, tid); other != 0 {
		return fmt.Errorf("process %d is traced already, by %s (process %d): a process has one tracer at a time, so end that one first", pid, nameOf(other), other)
	}
	scope, _ := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	if strings.TrimSpace(string(scope)) == "3" {
		return fmt.Errorf("this machine lets nobody trace a process until it is started again (kernel.yama.ptrace_scope is 3): %w", err)
	}
	if err == unix.EPERM {
		return fmt.Errorf("this user may not trace process %d, or a security module forbids it: run as root, with CAP_SYS_PTRACE: %w", pid, err)
	}
	return fmt.Errorf("trace thread %d of process %d: %w", tid, pid, err)
}

// nameOf returns the name that a process calls itself.
func nameOf(pid int) string {
	args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	name, _, _ := strings.Cut(string(args), "\x00")
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, filepath.Base(name))
}
