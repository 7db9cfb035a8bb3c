package filefaults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// listenerFile is the file by which the kernel reports the operations of one process and its children.
type listenerFile struct {
	file *os.File
	raw  syscall.RawConn
}

func newListenerFile(fd int) (*listenerFile, error) {
	// Only a file that does not block is waited for without a thread, and can be closed meanwhile.
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("prepare listener: %w", err)
	}
	file := os.NewFile(uintptr(fd), "seccomp listener")
	raw, err := file.SyscallConn()
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("prepare listener: %w", err)
	}
	return &listenerFile{file: file, raw: raw}, nil
}

// receive waits for the next operation. It returns an error when all processes have ended.
func (f *listenerFile) receive() (*notification, error) {
	n := new(notification)
	var failed error
	err := f.raw.Read(func(fd uintptr) bool {
		for {
			ready := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			if _, err := unix.Poll(ready, 0); err != nil && !errors.Is(err, unix.EINTR) {
				failed = err
				return true
			}
			switch events := ready[0].Revents; {
			case events&unix.POLLIN != 0:
			case events != 0:
				failed = unix.ESRCH
				return true
			default:
				return false
			}
			*n = notification{} // the kernel takes no other
			errno := control(fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(n))
			if errno == 0 {
				return true
			}
			// ENOENT: a signal has interrupted the operation just now, and it begins anew.
			if errno != unix.ENOENT && errno != unix.EINTR {
				failed = errno
				return true
			}
		}
	})
	if err := errors.Join(err, failed); err != nil {
		return nil, fmt.Errorf("receive operation: %w", err)
	}
	return n, nil
}

// valid reports whether an operation still waits.
func (f *listenerFile) valid(id uint64) bool {
	errno := unix.EBADF
	_ = f.raw.Control(func(fd uintptr) {
		errno = control(fd, unix.SECCOMP_IOCTL_NOTIF_ID_VALID, unsafe.Pointer(&id))
	})
	return errno == 0
}

// answer ends the wait of an operation, which goes on if errno is 0. If it waits no more, that is no error.
func (f *listenerFile) answer(id uint64, errno unix.Errno) {
	r := response{id: id, errno: -int32(errno)}
	if errno == 0 {
		r.flags = unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
	}
	_ = f.raw.Control(func(fd uintptr) {
		for control(fd, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&r)) == unix.EINTR {
			continue
		}
	})
}

func control(fd uintptr, request uint, arg unsafe.Pointer) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, uintptr(request), uintptr(arg))
	return errno
}

// listener serves one process and its children.
type listener struct {
	server *Server
	decide Decide
	file   *listenerFile

	mu      sync.Mutex
	waiting map[uint64]context.CancelFunc // what is being decided, by the kernel's number of the operation
}

// serve returns when all processes have ended.
func (l *listener) serve() {
	defer l.file.file.Close()
	// The operations end when their processes have, but go on when the server is closed.
	ctx, end := context.WithCancel(l.server.ctx)
	defer end()
	alive, ended := context.WithCancel(context.Background())
	defer ended()
	go l.sweep(alive)
	for {
		n, err := l.file.receive()
		if err != nil {
			return
		}
		if ctx.Err() != nil {
			l.file.answer(n.id, 0)
			continue
		}
		select {
		case l.server.slots <- struct{}{}:
			go func() {
				errno := l.errnoFor(ctx, n)
				// What the process does next must find the slot free.
				<-l.server.slots
				l.file.answer(n.id, errno)
			}()
		default:
			l.file.answer(n.id, 0)
		}
	}
}

// errnoFor decides on an operation. What cannot be read goes on: the kernel finds the same fault, or nobody waits.
func (l *listener) errnoFor(ctx context.Context, n *notification) unix.Errno {
	op, err := operationOf(n)
	if err != nil || !l.file.valid(n.id) {
		return 0
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	l.mu.Lock()
	l.waiting[n.id] = end
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		delete(l.waiting, n.id)
		l.mu.Unlock()
	}()
	errno := l.decide(ctx, op)
	if ctx.Err() != nil {
		return 0
	}
	return errno
}

// sweep ends the decisions about operations that nobody waits for: the listener reports only the end of all processes,
// and a child may be killed alone, or outlive its parent.
func (l *listener) sweep(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		l.mu.Lock()
		for id, end := range l.waiting {
			if !l.file.valid(id) {
				end()
			}
		}
		l.mu.Unlock()
	}
}
