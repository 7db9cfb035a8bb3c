package peer

import "golang.org/x/sys/unix"

func ask(fd int) (*Process, error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return nil, err
	}
	return &Process{Pid: cred.Pid, Uid: cred.Uid}, nil
}
