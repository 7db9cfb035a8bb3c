//go:build linux && (amd64 || arm64)

package holdproc

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/probes/inside/ptrace"
	"github.com/podstep/podstep/probes/kubelets"
)

// With these options new threads are traced too, and an exec is reported. PTRACE_O_EXITKILL is not among them: when
// this process ends, the threads go on.
const options = unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEEXEC

// A signal's code states where it comes from.
const (
	siKernel = 0x80 // the kernel, and a probe in it
	siTkill  = -6   // a process, to one thread
)

// signalCode returns the code of the signal for which a thread stands still.
func signalCode(tid int) (int32, error) {
	var siginfo [128]byte
	err := ptrace.Call(unix.PTRACE_GETSIGINFO, tid, 0, uintptr(unsafe.Pointer(&siginfo[0])))
	return int32(binary.LittleEndian.Uint32(siginfo[8:])), err
}

// seize begins to trace the threads that are not yet traced, until it finds no more. It fails if the program has ended
// and another process has its number: before it touches that one, or, if the number changes hands meanwhile, after the
// last thread. Its caller then ends this thread, and the kernel lets go of what is traced.
func (t *tracer) seize() error {
	if err := t.same(); err != nil {
		return err
	}
	if err := t.seizeThreads(); err != nil {
		return err
	}
	return t.same()
}

// same returns an error if the program has ended.
func (t *tracer) same() error {
	if t.started != 0 && !kubelets.Same(t.program.PID, t.started) {
		return fmt.Errorf("the kubelet, process %d, has ended", t.program.PID)
	}
	return nil
}

func (t *tracer) seizeThreads() error {
	return ptrace.SeizeAll(t.program.PID, options,
		func(tid int) bool { return t.threads[tid] != nil },
		func(tid int) { t.threads[tid] = &thread{} })
}
