package companion

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// stillEnv makes the test program a process that EndIfStill looks after.
const stillEnv = "PODSTEP_TEST_STILL"

func TestMain(m *testing.M) {
	if os.Getenv(stillEnv) != "" {
		EndIfStill()
		fmt.Println("ready")
		time.Sleep(time.Hour)
	}
	os.Exit(m.Run())
}

// TestEndIfStill: the kernel kills a process that a signal has stopped, and none that works.
func TestEndIfStill(t *testing.T) {
	start := func() *exec.Cmd {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), stillEnv+"=1")
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
			t.Fatalf("it prints %q, %v", line, err)
		}
		return cmd
	}
	works, stopped := start(), start()
	if err := stopped.Process.Signal(unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	_ = stopped.Wait()
	if s, ok := stopped.ProcessState.Sys().(syscall.WaitStatus); !ok || s.Signal() != unix.SIGKILL {
		t.Errorf("the stopped process ended: %v", stopped.ProcessState)
	}
	if err := works.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("the process that works has ended: %v", err)
	}
}
