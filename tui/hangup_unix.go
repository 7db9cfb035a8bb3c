//go:build unix

package tui

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// onHangup calls gone when the terminal behind f goes away. The signal for that reaches only the terminal's own
// session. A podstep that was started in another session, as su does, has to watch the terminal itself. The
// goroutine ends within a second after stop is called.
func onHangup(f *os.File, gone func()) (stop func()) {
	done := make(chan struct{})
	fd := int32(f.Fd())
	go func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			// No events are asked for: the kernel reports hang-ups and errors all the same.
			fds := []unix.PollFd{{Fd: fd}}
			n, err := unix.Poll(fds, 1000)
			if err != nil && !errors.Is(err, unix.EINTR) {
				return
			}
			if n > 0 && fds[0].Revents != 0 {
				gone()
				return
			}
		}
	}()
	return func() { close(done) }
}
