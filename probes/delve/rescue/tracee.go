//go:build linux && amd64

package rescue

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/companion"
	"github.com/podstep/podstep/probes/inside/park"
	"github.com/podstep/podstep/probes/inside/ptrace"
)

// tracee is a thread of the kubelet that stands still, and makes system calls for this process.
type tracee struct {
	pid, tid int
	saved    unix.PtraceRegs // with which the thread is to go on
}

// stopWithin is how long a thread may take to stand still: one that waits for a disk does so afterwards.
const stopWithin = 2 * time.Second

var errNotStopped = errors.New("the thread does not stand still")

// withAny calls do with one thread of a process, while that thread stands still. The other threads run on. Threads that
// wait for a futex come first, since these can make system calls safely.
func withAny(pid int, do func(*tracee) error) error {
	all, err := ptrace.Threads(pid)
	if err != nil {
		return err
	}
	var waiting, others []int
	for _, tid := range all {
		if waitsForFutex(pid, tid) {
			waiting = append(waiting, tid)
		} else {
			others = append(others, tid)
		}
	}
	for _, tid := range append(waiting, others...) {
		err = stopped(pid, []int{tid}, func(all []*tracee) error { return do(all[0]) })
		if !errors.Is(err, errNotStopped) && !errors.Is(err, unix.ESRCH) {
			return err
		}
	}
	return fmt.Errorf("stop a thread of process %d: %w", pid, err)
}

// waitsForFutex reports whether a thread waits for a futex.
func waitsForFutex(pid, tid int) bool {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/syscall", pid, tid))
	return strings.HasPrefix(string(text), strconv.Itoa(unix.SYS_FUTEX)+" ")
}

// withAll calls do while all threads of a process stand still.
func withAll(pid int, do func([]*tracee) error) error {
	all, err := ptrace.Threads(pid)
	if err != nil {
		return err
	}
	return stopped(pid, all, func(stopped []*tracee) error {
		again, err := ptrace.Threads(pid)
		if err == nil && len(stopped) < len(again) {
			err = errInside // a thread is new
		}
		if err != nil {
			return err
		}
		return do(stopped)
	})
}

// stopped calls do while threads stand still, and lets them go on with the registers that do leaves in saved. Threads
// that have ended are left out.
func stopped(pid int, tids []int, do func([]*tracee) error) error {
	result := make(chan error)
	companion.OnThread(func() {
		all, err := stop(pid, tids)
		if err == nil {
			err = do(all)
		}
		for _, t := range all {
			err = errors.Join(err, t.release())
		}
		result <- err
	})
	return <-result
}

// stop makes threads stand still. With an error it returns those that do. The kernel lets go of the others when the
// caller's thread ends.
func stop(pid int, tids []int) (still []*tracee, err error) {
	var seized []*tracee
	for _, tid := range tids {
		t, err := seize(pid, tid)
		if errors.Is(err, unix.ESRCH) && len(tids) > 1 {
			continue
		}
		if err != nil {
			return nil, err
		}
		seized = append(seized, t)
	}
	for _, t := range seized {
		if err := t.awaitInterrupt(); err != nil {
			return still, err
		}
		if err := unix.PtraceGetRegs(t.tid, &t.saved); err != nil {
			return still, fmt.Errorf("read the registers of thread %d: %w", t.tid, err)
		}
		still = append(still, t)
	}
	return still, nil
}

// seize begins to trace a thread, and asks it to stand still.
func seize(pid, tid int) (*tracee, error) {
	if err := ptrace.Seize(pid, tid, 0); err != nil {
		return nil, err
	}
	if err := unix.PtraceInterrupt(tid); err != nil {
		return nil, fmt.Errorf("stop thread %d: %w", tid, err)
	}
	return &tracee{pid: pid, tid: tid}, nil
}

// setBack makes the thread go on at an address, whatever becomes of this process.
func (t *tracee) setBack(to uint64) error {
	t.saved.Rip = to
	if err := unix.PtraceSetRegs(t.tid, &t.saved); err != nil {
		return fmt.Errorf("set the registers of thread %d: %w", t.tid, err)
	}
	return nil
}

// The results with which the kernel leaves a system call that it is about to begin again (include/linux/errno.h).
const restartFirst, restartLast = -516, -512

// inFutex reports whether the thread stands in a wait for a futex. If this process dies while such a thread makes a
// system call at the place of its own, the wait returns early, with some result. All who wait for a futex expect that.
func (t *tracee) inFutex() bool {
	result := int64(t.saved.Rax)
	return t.saved.Orig_rax == unix.SYS_FUTEX && result >= restartFirst && result <= restartLast
}

// chooseCaller returns the thread that can best make system calls.
func chooseCaller(all []*tracee) *tracee {
	if i := slices.IndexFunc(all, (*tracee).inFutex); i >= 0 {
		return all[i]
	}
	return all[0]
}

// release lets a thread go on.
func (t *tracee) release() error {
	return errors.Join(unix.PtraceSetRegs(t.tid, &t.saved), unix.PtraceDetach(t.tid))
}

// trapPending reports whether a SIGTRAP is pending for the thread.
func (t *tracee) trapPending() bool {
	dir := fmt.Sprintf("/proc/%d/task/%d", t.pid, t.tid)
	return park.Pending(dir, "SigPnd", unix.SIGTRAP) || park.Pending(dir, "ShdPnd", unix.SIGTRAP)
}

// awaitInterrupt waits until the thread stands still. Signals that come before reach the thread.
func (t *tracee) awaitInterrupt() error {
	for began := time.Now(); time.Since(began) < stopWithin; {
		var status unix.WaitStatus
		got, err := unix.Wait4(t.tid, &status, unix.WALL|unix.WNOTHREAD|unix.WNOHANG, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return fmt.Errorf("wait for thread %d: %w", t.tid, err)
		case got == 0:
			time.Sleep(20 * time.Microsecond)
		case !status.Stopped():
			return fmt.Errorf("thread %d has ended: %w", t.tid, unix.ESRCH)
		case int(status)>>16 == unix.PTRACE_EVENT_STOP:
			return nil
		default:
			_ = unix.PtraceCont(t.tid, int(status.StopSignal()))
		}
	}
	return fmt.Errorf("thread %d: %w", t.tid, errNotStopped)
}

// PTRACE_GETSIGMASK and PTRACE_SETSIGMASK of the kernel's headers, which x/sys does not have.
const getSigmask, setSigmask = 0x420a, 0x420b

// syscall makes the thread make a system call. at is the address of a SYSCALL instruction, for a thread that does not stand
// at one.
func (t *tracee) syscall(at, number uint64, args ...uint64) (uint64, error) {
	if t.inFutex() {
		at = t.saved.Rip - uint64(len(syscallCode))
	}
	// No signal but the one that ends the step may reach the thread: its handler would run with these registers. The
	// kernel resets the action of a SIGTRAP that it must send and that is blocked.
	var before uint64
	if err := ptrace.Call(getSigmask, t.tid, 8, uintptr(unsafe.Pointer(&before))); err != nil {
		return 0, fmt.Errorf("read the signal mask of thread %d: %w", t.tid, err)
	}
	all := ^uint64(0) &^ (1 << (unix.SIGTRAP - 1))
	if err := ptrace.Call(setSigmask, t.tid, 8, uintptr(unsafe.Pointer(&all))); err != nil {
		return 0, fmt.Errorf("set the signal mask of thread %d: %w", t.tid, err)
	}
	result, err := t.step(at, number, args)
	return result, errors.Join(err, unix.PtraceSetRegs(t.tid, &t.saved), ptrace.Call(setSigmask, t.tid, 8, uintptr(unsafe.Pointer(&before))))
}

func (t *tracee) step(at, number uint64, args []uint64) (uint64, error) {
	regs := t.saved
	regs.Rip, regs.Rax, regs.Orig_rax = at, number, ^uint64(0) // no system call is under way that could begin again
	for i, to := range []*uint64{&regs.Rdi, &regs.Rsi, &regs.Rdx, &regs.R10, &regs.R8, &regs.R9} {
		if i < len(args) {
			*to = args[i]
		}
	}
	if err := unix.PtraceSetRegs(t.tid, &regs); err != nil {
		return 0, fmt.Errorf("set the registers of thread %d: %w", t.tid, err)
	}
	if err := unix.PtraceSingleStep(t.tid); err != nil {
		return 0, fmt.Errorf("step thread %d: %w", t.tid, err)
	}
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(t.tid, &status, unix.WALL|unix.WNOTHREAD, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return 0, fmt.Errorf("wait for thread %d: %w", t.tid, err)
		case !status.Stopped():
			return 0, fmt.Errorf("thread %d has ended", t.tid)
		case int(status)>>16 != 0 || status.StopSignal() != unix.SIGTRAP: // another stop of the whole process comes between
			if err := unix.PtraceSingleStep(t.tid); err != nil {
				return 0, fmt.Errorf("step thread %d: %w", t.tid, err)
			}
			continue
		}
		break
	}
	if err := unix.PtraceGetRegs(t.tid, &regs); err != nil {
		return 0, fmt.Errorf("read the registers of thread %d: %w", t.tid, err)
	}
	if n := int64(regs.Rax); n < 0 && n > -4096 {
		return 0, unix.Errno(-n)
	}
	return regs.Rax, nil
}
