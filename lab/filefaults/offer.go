package filefaults

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// patience is how long either side waits for the other until the listener is with the supervisor.
const patience = 30 * time.Second

// mark is what the supervisor reads from a process's memory to see whether it can read there at all.
var mark = [...]byte{'f', 'i', 'l', 'e', 'f', 'a', 'u', 'l', 't', 's', 0}

// Offer gives the supervisor at the socket power over the file operations of this process: of all its threads, those to
// come, and its children, which must not offer again. It cannot be taken back, and children get no privileges from
// set-user-ID programs any more. An error comes before the filter is installed, if the supervisor is not there, cannot read
// this process's memory, or the kernel is too old. Only if the supervisor dies during the call, the filter is there
// already: the process should end after any error.
func Offer(socket string) error {
	// Nothing after install may open a file before the supervisor has the listener: the connection is made first.
	conn, err := net.DialUnix("unixpacket", nil, &net.UnixAddr{Name: socket, Net: "unixpacket"})
	if err != nil {
		return fmt.Errorf("connect to supervisor: %w", err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return fmt.Errorf("limit time of offer: %w", err)
	}
	if err := checkKernel(); err != nil {
		return err
	}
	if err := letRead(conn); err != nil {
		return err
	}
	fd, err := install()
	if err != nil {
		return err
	}
	_, _, err = conn.WriteMsgUnix([]byte{0}, unix.UnixRights(fd), nil)
	// The supervisor's must be the only one left: while this process has one too, its operations would wait for ever
	// after the supervisor's death.
	_ = unix.Close(fd)
	if err != nil {
		return fmt.Errorf("send listener to supervisor: %w", err)
	}
	return nil
}

// letRead allows the supervisor to read this process's memory, and lets it try.
func letRead(conn *net.UnixConn) error {
	pid, err := peer(conn)
	if err != nil {
		return err
	}
	if pid > 0 {
		// Yama, where it is in use, lets only ancestors read, and whom a process names. Where it is not, this fails.
		_ = unix.Prctl(unix.PR_SET_PTRACER, uintptr(pid), 0, 0, 0)
	}
	place := binary.NativeEndian.AppendUint64(nil, uint64(uintptr(unsafe.Pointer(&mark))))
	if _, err := conn.Write(place); err != nil {
		return fmt.Errorf("send mark to supervisor: %w", err)
	}
	answer := make([]byte, 4)
	if _, err := conn.Read(answer); err != nil {
		return fmt.Errorf("receive supervisor's answer: %w", err)
	}
	if errno := unix.Errno(binary.NativeEndian.Uint32(answer)); errno != 0 {
		return fmt.Errorf("let supervisor read memory of this process (see kernel.yama.ptrace_scope): %w", errno)
	}
	return nil
}

// tryRead is the supervisor's side of letRead.
func tryRead(conn *net.UnixConn) error {
	pid, err := peer(conn)
	if err != nil {
		return err
	}
	place := make([]byte, 8)
	if _, err := conn.Read(place); err != nil {
		return fmt.Errorf("receive mark: %w", err)
	}
	var errno unix.Errno
	if text, err := readText(pid, binary.NativeEndian.Uint64(place)); err != nil {
		if !errors.As(err, &errno) {
			errno = unix.EIO
		}
	} else if text != string(mark[:len(mark)-1]) {
		errno = unix.ESRCH // another process has this number here
	}
	if _, err := conn.Write(binary.NativeEndian.AppendUint32(nil, uint32(errno))); err != nil {
		return fmt.Errorf("send answer: %w", err)
	}
	return nil
}

// peer returns the number of the process at the other end, or 0 if it is not seen from here.
func peer(conn *net.UnixConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("find peer: %w", err)
	}
	var cred *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err := errors.Join(err, failed); err != nil {
		return 0, fmt.Errorf("find peer: %w", err)
	}
	return int(cred.Pid), nil
}
