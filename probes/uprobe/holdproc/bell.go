//go:build linux && (amd64 || arm64)

package holdproc

import (
	"os"
	"os/signal"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Only the thread that traces may make most of ptrace's calls, and it waits for the kubelet's threads in wait4. A
// bell makes it leave wait4, to run functions that others post.
type bell struct {
	mu     sync.Mutex
	queue  []func()
	tid    int // of the thread
	closed bool
}

// ringSignal interrupts wait4.
const ringSignal = unix.SIGUSR2

// ringEvery is how often the signal is sent: a signal that comes before wait4 has begun is lost.
const ringEvery = 200 * time.Microsecond

// makeBells lets the signal interrupt system calls. With the handlers that Go installs, they would begin again.
func makeBells() error {
	sink := make(chan os.Signal, 1)
	signal.Notify(sink, ringSignal)
	var action struct{ handler, flags, restorer, mask uint64 }
	call := func(set, get unsafe.Pointer) error {
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(ringSignal), uintptr(set), uintptr(get), 8, 0, 0)
		if errno != 0 {
			return errno
		}
		return nil
	}
	if err := call(nil, unsafe.Pointer(&action)); err != nil {
		return err
	}
	const restart = 0x10000000 // SA_RESTART
	action.flags &^= restart
	return call(unsafe.Pointer(&action), nil)
}

// post makes the thread run f. It reports false if the thread has ended.
func (b *bell) post(f func()) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.queue = append(b.queue, f)
	if len(b.queue) == 1 {
		go b.ring()
	}
	return true
}

// do makes the thread run f, and waits until it has. It reports false if the thread has ended before that.
func (b *bell) do(f func()) bool {
	done := make(chan struct{})
	if !b.post(func() { f(); close(done) }) {
		return false
	}
	<-done
	return true
}

func (b *bell) ring() {
	for b.pending() {
		_ = unix.Tgkill(os.Getpid(), b.tid, ringSignal)
		time.Sleep(ringEvery)
	}
}

func (b *bell) pending() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue) > 0
}

// run runs the posted functions, on the thread itself. If idle then reports that nothing is left to do, run closes
// the bell and reports true.
func (b *bell) run(idle func() bool) (closed bool) {
	for {
		b.mu.Lock()
		queue := b.queue
		b.queue = nil
		if len(queue) == 0 {
			defer b.mu.Unlock()
			b.closed = idle()
			return b.closed
		}
		b.mu.Unlock()
		for _, f := range queue {
			f()
		}
	}
}
