//go:build unix

package action

import (
	"os/exec"
	"syscall"
)

// endAll makes the end of a context end the program and all that it has started.
func endAll(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
