//go:build linux && amd64

package delve

import (
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"
)

// TestStillness: the time that a process is stopped by its tracer counts, and no other time.
func TestStillness(t *testing.T) {
	runtime.LockOSThread() // the kernel takes requests only of the thread that traces
	defer runtime.UnlockOSThread()
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true} // it is stopped where its program begins
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pid := cmd.Process.Pid
	defer func() {
		_ = cmd.Process.Kill()
		_, _ = syscall.Wait4(pid, nil, 0, nil)
	}()
	if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
		t.Fatal(err)
	}
	s, err := watchStill(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	var stood time.Duration
	for stood < 10*stillEvery {
		runtime.Gosched()
		stood += s.take()
	}
	if err := syscall.PtraceCont(pid, 0); err != nil {
		t.Fatal(err)
	}
	for s.stopped() {
		runtime.Gosched()
	}
	ticked := func() { // waits for two of stillness's looks
		for range 2 {
			<-time.After(2 * stillEvery)
		}
	}
	ticked()
	s.take() // the last look may reach into the time when the process stood still
	ticked()
	if more := s.take(); more != 0 {
		t.Errorf("it runs, and is said to have stood still for %v", more)
	}
	if _, err := watchStill(1 << 30); err == nil {
		t.Error("a process that is not there is measured")
	}
}
