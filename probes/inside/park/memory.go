//go:build linux

package park

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// read fills b from the memory of a process. It returns how many bytes it could read.
func read(pid int, at uint64, b []byte) (int, error) {
	local := []unix.Iovec{{Base: &b[0], Len: uint64(len(b))}}
	remote := []unix.RemoteIovec{{Base: uintptr(at), Len: len(b)}}
	n, err := unix.ProcessVMReadv(pid, local, remote, 0)
	if err != nil {
		return 0, fmt.Errorf("read memory of process %d at %#x: %w", pid, at, err)
	}
	return n, nil
}

// ReadMemory fills b from the memory of a process at an address, or fails.
func ReadMemory(pid int, at uint64, b []byte) error {
	n, err := read(pid, at, b)
	if err == nil && n < len(b) {
		err = fmt.Errorf("read memory of process %d at %#x: only %d of %d bytes are there", pid, at, n, len(b))
	}
	return err
}

// write writes b to the memory of a process: all of it, or it fails.
func write(pid int, at uint64, b []byte) error {
	local := []unix.Iovec{{Base: &b[0], Len: uint64(len(b))}}
	remote := []unix.RemoteIovec{{Base: uintptr(at), Len: len(b)}}
	n, err := unix.ProcessVMWritev(pid, local, remote, 0)
	if err == nil && n < len(b) {
		err = fmt.Errorf("only %d of %d bytes were written", n, len(b))
	}
	if err != nil {
		return fmt.Errorf("write memory of process %d at %#x: %w", pid, at, err)
	}
	return nil
}
