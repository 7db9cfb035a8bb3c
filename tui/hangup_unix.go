//go:build unix

package tui

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// onHangup calls gone when the terminal behind f is. The signal for that goes
// to the terminal's own session only: a podstep that was started in another, as
// by su, learns it from nothing but the terminal itself. The goroutine ends with
// stop, at the latest after a second.
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
			// No events are asked for: hang-ups and errors are reported all the same.
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
