package nodelog

import "syscall"

// childOf returns what makes the kernel end a child when the thread that started it has ended, and makes root its root;
// "": the child has the root of podstep.
func childOf(root string) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Chroot: root, Pdeathsig: syscall.SIGKILL}
}
