package nodelog

import (
	"syscall"

	"github.com/podstep/podstep/probes/kubelets"
)

// childOf returns what makes the kernel end a child when the thread that started it has ended, and makes root its root;
// "": the child has the root of podstep.
func childOf(root string) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Chroot: root, Pdeathsig: syscall.SIGKILL}
}

// startOf returns when a process was started; 0: it has ended.
func startOf(pid int) uint64 {
	started, _ := kubelets.Started(pid)
	return started
}
