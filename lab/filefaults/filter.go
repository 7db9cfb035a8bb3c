package filefaults

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// notification is the kernel's struct seccomp_notif: an operation that waits.
type notification struct {
	id    uint64
	pid   uint32 // of the thread, as the supervisor sees it
	flags uint32
	data  data
}

// data is the kernel's struct seccomp_data.
type data struct {
	number       int32
	architecture uint32
	instruction  uint64
	args         [6]uint64
}

// response is the kernel's struct seccomp_notif_resp.
type response struct {
	id    uint64
	value int64
	errno int32 // negative, or 0
	flags uint32
}

// checkKernel returns an error if the kernel has no notifications of filters, or larger ones than this package knows.
func checkKernel() error {
	var sizes struct{ notification, response, data uint16 }
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_GET_NOTIF_SIZES, 0, uintptr(unsafe.Pointer(&sizes)))
	if errno != 0 {
		return fmt.Errorf("ask kernel for seccomp notifications, which need Linux 5.19: %w", errno)
	}
	for _, s := range []struct {
		what        string
		kernel, own uintptr
	}{
		{"notifications", uintptr(sizes.notification), unsafe.Sizeof(notification{})},
		{"responses", uintptr(sizes.response), unsafe.Sizeof(response{})},
		{"data", uintptr(sizes.data), unsafe.Sizeof(data{})},
	} {
		if s.kernel != s.own {
			return fmt.Errorf("check kernel: its seccomp %s have %d bytes, those of this package have %d", s.what, s.kernel, s.own)
		}
	}
	return nil
}

// program makes the filter: it stops the calls, and allows all others and those of another architecture.
func program() []unix.SockFilter {
	numbers := slices.Sorted(maps.Keys(calls))
	const (
		load   = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal  = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		answer = unix.BPF_RET | unix.BPF_K
	)
	// A jump's distance has 8 bits, and what follows it is at most one step for each call, and two.
	if len(numbers) > 250 {
		panic("filefaults: too many calls for the jumps of the filter")
	}
	steps := []unix.SockFilter{
		{Code: load, K: uint32(unsafe.Offsetof(data{}.architecture))},
		{Code: equal, K: architecture, Jf: uint8(len(numbers) + 1)},
		{Code: load, K: uint32(unsafe.Offsetof(data{}.number))},
	}
	for i, number := range numbers {
		steps = append(steps, unix.SockFilter{Code: equal, K: uint32(number), Jt: uint8(len(numbers) - i)})
	}
	return append(steps,
		unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_USER_NOTIF})
}

// install puts the filter on all threads of this process and returns the file descriptor of its listener.
func install() (int, error) {
	steps := program()
	all := unix.SockFprog{Len: uint16(len(steps)), Filter: &steps[0]}
	// The two calls must be made by one thread. TSYNC copies what they set to all others.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return -1, fmt.Errorf("give up new privileges: %w", err)
	}
	// Go interrupts its threads by signals all the time. An operation that the supervisor has received must wait through
	// them, or else it would begin anew with each.
	const flags = unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV |
		unix.SECCOMP_FILTER_FLAG_TSYNC | unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&all)))
	switch {
	case errors.Is(errno, unix.EINVAL):
		return -1, fmt.Errorf("install filter, which needs Linux 5.19: %w", errno)
	case errors.Is(errno, unix.EBUSY):
		return -1, fmt.Errorf("install filter: this process has one with a listener already: %w", errno)
	case errno != 0:
		return -1, fmt.Errorf("install filter: %w", errno)
	}
	return int(fd), nil
}
