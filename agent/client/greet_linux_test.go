package client

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/peer"
)

// silentEnv makes this test's program play an agent that answers nothing. Its value is the socket's path.
const silentEnv = "PODSTEP_TEST_SILENT"

func TestMain(m *testing.M) {
	if path := os.Getenv(silentEnv); path != "" {
		playSilent(path)
	}
	os.Exit(m.Run())
}

func playSilent(path string) {
	l, err := net.Listen("unix", path)
	if err != nil {
		panic(err)
	}
	defer l.Close()
	select {}
}

// silentAgent starts a process that listens and answers nothing.
func silentAgent(t *testing.T) (path string, p *os.Process) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "s")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), silentEnv+"="+path)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for {
		c, err := net.Dial("unix", path)
		if err == nil {
			_ = c.Close()
			return path, cmd.Process
		}
		time.Sleep(time.Millisecond)
	}
}

// TestGreet: if an agent does not answer and its process is stopped, the client gives it up early. If it is not
// stopped, the client gives it up late, since a machine may be slow.
func TestGreet(t *testing.T) {
	greet := func(path string, lookAfter, patience time.Duration) string {
		t.Helper()
		d := &dialer{place: &socket{path, user{os.Getuid(), -1}}, lookAfter: lookAfter, patience: patience}
		c, err := dialBy(t.Context(), d)
		if err == nil {
			_ = c.Close()
			t.Fatal("an agent that answers nothing was greeted")
		}
		if KindOf(err) != NoAgent {
			t.Errorf("the error is of kind %v: %v", KindOf(err), err)
		}
		return err.Error()
	}
	path, p := silentAgent(t)
	if text := greet(path, time.Millisecond, 50*time.Millisecond); !strings.Contains(text, "its process is not stopped") {
		t.Errorf("of an agent that is silent: %s", text)
	}
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for !(&peer.Process{Pid: int32(p.Pid)}).Stopped() {
		time.Sleep(time.Millisecond)
	}
	if text := greet(path, time.Millisecond, time.Hour); !strings.Contains(text, "its process, "+strconv.Itoa(p.Pid)+", is stopped") {
		t.Errorf("of an agent that is stopped: %s", text)
	}
}

// TestGreetSlow: an agent that answers only after the client has looked at its process is greeted.
func TestGreetSlow(t *testing.T) {
	answer := make(chan struct{})
	path := serve(t, &fake{wait: answer})
	d := &dialer{place: &socket{path, user{os.Getuid(), -1}}, lookAfter: time.Nanosecond, patience: time.Hour}
	time.AfterFunc(10*time.Millisecond, func() { close(answer) })
	c, err := dialBy(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}
