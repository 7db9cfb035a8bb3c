//go:build unix

package tui

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestHangup: the other end of podstep's input goes away.
func TestHangup(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	ours := os.NewFile(uintptr(pair[0]), "terminal")
	defer ours.Close()
	gone := make(chan struct{})
	defer onHangup(ours, func() { close(gone) })()
	if err := unix.Close(pair[1]); err != nil {
		t.Fatal(err)
	}
	<-gone
}
