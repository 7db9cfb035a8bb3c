//go:build node

package lab

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/podstep/podstep/agent/labstate"
)

// These tests run whole nodes: they need root, containerd, runc, CNI plugins and busybox.
//
//	PODSTEP_BIN=DIR      built podstep-lab and kubelet (podstep-kubelet); built here when not set
//	PODSTEP_KUBELET=PATH another kubelet, such as an unmodified one

const testTimeout = 2 * time.Minute

var binaries = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv("PODSTEP_BIN"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.MkdirTemp("", "podstep-bin")
	if err != nil {
		return "", err
	}
	const version = "-X k8s.io/component-base/version.gitVersion=v1.36.3"
	for name, pkg := range map[string]string{"podstep-lab": "github.com/podstep/podstep/lab/cmd/podstep-lab", "podstep-kubelet": "k8s.io/kubernetes/cmd/kubelet"} {
		cmd := exec.Command("go", "build", "-ldflags", version, "-o", filepath.Join(dir, name), pkg)
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", errors.New(string(out))
		}
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, _ := binaries(); os.Getenv("PODSTEP_BIN") == "" && dir != "" {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

// labDir returns a short new directory: in t.TempDir the names of sockets would be too long for the kernel.
func labDir(t *testing.T) string {
	t.Helper()
	parent, err := os.MkdirTemp("", "lab")
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(parent, "n")
	t.Cleanup(func() {
		if t.Failed() {
			showLogs(t, dir)
		}
		if err := Clean(dir); err != nil {
			t.Errorf("clean: %v", err)
		}
		os.RemoveAll(parent)
	})
	return dir
}

func showLogs(t *testing.T, dir string) {
	logs, _ := filepath.Glob(filepath.Join(dir, "logs", "*.log"))
	for _, log := range logs {
		text, _ := tail(log, 30)
		t.Logf("%s:\n%s", log, text)
	}
}

// labCommand returns a podstep-lab command that is not started yet.
func labCommand(t *testing.T, dir string, flags ...string) *exec.Cmd {
	t.Helper()
	bin, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	kubelet := os.Getenv("PODSTEP_KUBELET")
	if kubelet == "" {
		kubelet = filepath.Join(bin, "podstep-kubelet")
	}
	args := append([]string{"--dir", dir, "--runtime", "containerd", "--kubelet", kubelet}, flags...)
	return exec.Command(filepath.Join(bin, "podstep-lab"), args...)
}

type testLab struct {
	t      *testing.T
	cmd    *exec.Cmd
	dir    string
	names  names
	state  labstate.State
	client *kubernetes.Clientset
	ended  chan struct{} // closed when podstep-lab is gone
	errs   strings.Builder
}

func startLab(t *testing.T, dir string, flags ...string) *testLab {
	t.Helper()
	begin := time.Now()
	l := &testLab{t: t, cmd: labCommand(t, dir, flags...), dir: dir, ended: make(chan struct{})}
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	l.cmd.Stderr = &l.errs
	l.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 10)
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
		close(lines)
		l.cmd.Wait()
		close(l.ended)
	}()
	t.Cleanup(func() {
		l.cmd.Process.Kill()
		<-l.ended
	})
	select {
	case line := <-lines:
		if !strings.HasPrefix(line, "ready") {
			<-l.ended
			t.Fatalf("podstep-lab printed %q and ended: %s", line, l.errs.String())
		}
		t.Logf("%s (seen after %.1fs)", line, time.Since(begin).Seconds())
	case <-time.After(testTimeout):
		t.Fatal("the node is not ready")
	}
	real, err := resolve(dir)
	if err != nil {
		t.Fatal(err)
	}
	l.names = namesOf(real)
	if l.state, err = labstate.Read(real); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", l.state.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if l.client, err = kubernetes.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	return l
}

// stop ends the lab as a person does.
func (l *testLab) stop() {
	l.t.Helper()
	begin := time.Now()
	l.cmd.Process.Signal(syscall.SIGTERM)
	l.waitEnd()
	if code := l.cmd.ProcessState.ExitCode(); code != 0 {
		l.t.Errorf("podstep-lab ended with code %d: %s", code, l.errs.String())
	}
	l.t.Logf("stopped in %.1fs", time.Since(begin).Seconds())
}

// kill kills the lab with kill -9, and returns when its parts have ended too.
func (l *testLab) kill() {
	l.t.Helper()
	gone := l.watchParts()
	l.cmd.Process.Kill()
	l.waitEnd()
	gone()
}

func (l *testLab) waitEnd() {
	l.t.Helper()
	select {
	case <-l.ended:
	case <-time.After(testTimeout):
		l.t.Fatal("podstep-lab does not end")
	}
}

// watchParts returns a function that waits until the parts that run now have ended.
func (l *testLab) watchParts() func() {
	l.t.Helper()
	fds := map[string]int{}
	for name, pid := range l.state.Pids {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			l.t.Fatalf("watch %s: %v", name, err)
		}
		fds[name] = fd
	}
	return func() {
		l.t.Helper()
		for name, fd := range fds {
			waitPidfd(l.t, name, fd)
		}
	}
}

func waitPidfd(t *testing.T, name string, fd int) {
	t.Helper()
	defer unix.Close(fd)
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 10_000)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			t.Errorf("%s does not end: %v", name, err)
		}
		return
	}
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}
