package companion

import (
	"fmt"
	"os"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// deadAfter is how long a process may stand still before the kernel kills it, see EndIfStill. Those that watch it are
// quicker, if they can.
const deadAfter = 2 * SilentAfter

// EndIfStill makes the kernel kill this process when none of its goroutines has run for a while: when a signal has
// stopped it, and whoever watches it as well. It is for processes that may keep threads of the kubelet stopped. A kernel
// without such timers (CONFIG_POSIX_TIMERS) is done without.
func EndIfStill() {
	t, err := newKillTimer()
	if err == nil {
		err = t.set(deadAfter)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "podstep: nobody ends this process if it stands still:", err)
		return
	}
	go func() {
		for {
			time.Sleep(BeatEvery)
			_ = t.set(deadAfter)
		}
	}()
}

// killTimer is a POSIX timer of this process whose signal is SIGKILL.
type killTimer int32

// sigevent is the kernel's struct sigevent.
type sigevent struct {
	value          uint64
	signal, notify int32
	_              [48]byte
}

// itimerspec is the kernel's struct itimerspec.
type itimerspec struct{ interval, value unix.Timespec }

func newKillTimer() (t killTimer, err error) {
	e := sigevent{signal: int32(unix.SIGKILL)} // notify 0: SIGEV_SIGNAL
	_, _, errno := unix.Syscall(unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC, uintptr(unsafe.Pointer(&e)), uintptr(unsafe.Pointer(&t)))
	runtime.KeepAlive(&e)
	if errno != 0 {
		return 0, fmt.Errorf("make a timer: %w", errno)
	}
	return t, nil
}

// set makes the timer end the process after a while, unless it is set again before.
func (t killTimer) set(after time.Duration) error {
	spec := itimerspec{value: unix.NsecToTimespec(int64(after))}
	_, _, errno := unix.Syscall6(unix.SYS_TIMER_SETTIME, uintptr(t), 0, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("set a timer: %w", errno)
	}
	return nil
}
