//go:build linux && amd64

package rescue

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/companion"
	"github.com/podstep/podstep/probes/inside/ptrace"
)

// The rescuer traces the debugger process. So the kernel stops a thread of it that is about to end, whatever ends it,
// before it lets go of the kubelet's threads. Then the rescuer freezes the kubelet, and spreads the net.

const debuggerOptions = unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEEXIT

// watchEnd begins to trace the debugger process.
func (r *rescuer) watchEnd() error {
	r.gone = make(chan struct{})
	began := make(chan error)
	companion.OnThread(func() {
		err := r.seize()
		if err == nil && os.Getppid() != r.debugger {
			err = errNoDebugger // the threads may be another process's: the kernel lets go of them with this thread
		}
		began <- err
		if err == nil {
			r.untilEnd()
			close(r.gone)
		}
	})
	return <-began
}

// seize begins to trace all threads of the debugger process.
func (r *rescuer) seize() error {
	traced := map[int]bool{}
	err := ptrace.SeizeAll(r.debugger, debuggerOptions, func(tid int) bool { return traced[tid] }, func(tid int) { traced[tid] = true })
	if err == nil && len(traced) == 0 {
		err = errNoDebugger
	}
	if err != nil {
		return fmt.Errorf("trace the debugger process: %w", err)
	}
	return nil
}

// untilEnd passes on what happens to the debugger process, until that has ended.
func (r *rescuer) untilEnd() {
	for {
		var status unix.WaitStatus
		tid, err := unix.Wait4(-1, &status, unix.WALL|unix.WNOTHREAD, nil) // those of the kubelet are for the threads that trace them
		switch {
		case err == unix.EINTR:
		case err != nil:
			return // no thread is left
		case status.Stopped():
			r.passOn(tid, status)
		}
	}
}

// passOn lets a thread of the debugger process go on.
func (r *rescuer) passOn(tid int, status unix.WaitStatus) {
	signal := status.StopSignal()
	switch int(status) >> 16 {
	case 0:
	case unix.PTRACE_EVENT_STOP:
		if ptrace.StopsProcess(signal) {
			_ = ptrace.Call(unix.PTRACE_LISTEN, tid, 0, 0) // it stays stopped until SIGCONT
			return
		}
		signal = 0
	case unix.PTRACE_EVENT_EXIT:
		code, _ := unix.PtraceGetEventMsg(tid)
		if code != 0 || tid == r.debugger {
			r.net.Freeze(r.debugger)
			if err := r.net.Spread(); err != nil {
				fmt.Fprintln(os.Stderr, "podstep rescuer process:", err)
			}
		}
		signal = 0
	default:
		signal = 0
	}
	_ = unix.PtraceCont(tid, int(signal))
}
