package peer

import (
	"bytes"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

func askKernel(fd int) (*Process, error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return nil, err
	}
	return &Process{Pid: cred.Pid, Uid: cred.Uid}, nil
}

// Stopped reports whether the process is known to stand still: a signal or a debugger has
// stopped it.
func (p *Process) Stopped() bool {
	if p == nil {
		return false
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Pid))
	return err == nil && (bytes.Contains(status, []byte("\nState:\tT")) || bytes.Contains(status, []byte("\nState:\tt")))
}
