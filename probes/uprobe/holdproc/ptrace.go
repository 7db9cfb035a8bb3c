//go:build linux && amd64

package holdproc

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/uprobe/park"
)

// options: new threads are traced too, and the end of the program as it was is reported.
// It is not PTRACE_O_EXITKILL: when this process ends, the threads go on.
const options = unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEEXEC

func ptrace(request, tid int, addr, data uintptr) error {
	if _, _, errno := unix.Syscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), addr, data, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// A signal's code is where it comes from.
const (
	siKernel = 0x80 // the kernel, and a probe in it
	siTkill  = -6   // a process that meant one thread
)

// signalCode is the code of the signal for which a thread stands still.
func signalCode(tid int) (int32, error) {
	var siginfo [128]byte
	err := ptrace(unix.PTRACE_GETSIGINFO, tid, 0, uintptr(unsafe.Pointer(&siginfo[0])))
	return int32(binary.LittleEndian.Uint32(siginfo[8:])), err
}

// seize begins to trace the threads that are not yet traced, until there is none.
func (t *tracer) seize() error {
	for fresh := true; fresh; {
		fresh = false
		entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", t.program.PID))
		if err != nil {
			return fmt.Errorf("look at the threads of process %d: %w", t.program.PID, err)
		}
		for _, e := range entries {
			tid, _ := strconv.Atoi(e.Name())
			if t.threads[tid] != nil {
				continue
			}
			switch err := ptrace(unix.PTRACE_SEIZE, tid, 0, options); {
			case err == unix.ESRCH || err != nil && ends(tid):
			case err != nil && park.TracerOf(t.program.PID, tid) == os.Getpid():
				t.threads[tid] = &thread{} // one that a traced one has made
			case err != nil:
				return notTraced(t.program.PID, tid, err)
			default:
				t.threads[tid], fresh = &thread{}, true
			}
		}
	}
	return nil
}

// ends reports whether a thread ends just now, or has.
func ends(tid int) bool {
	state := park.StatusOf(fmt.Sprintf("/proc/%d", tid), "State")
	return state == "" || state[0] == 'Z' || state[0] == 'X'
}

// notTraced is why a thread cannot be traced.
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

// nameOf is what a process calls itself.
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
