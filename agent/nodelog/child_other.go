//go:build !linux

package nodelog

import "syscall"

func childOf(string) *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

func startOf(int) uint64 { return 0 }
