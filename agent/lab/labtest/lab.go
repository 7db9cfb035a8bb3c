// Package labtest runs a real node for tests: it starts podstep-lab as a person
// would, and gives the test its API server, its agent and the podstep command.
//
// PODSTEP_BIN names the folder with the built programs, as `make build` fills
// it. The tests that use it need root, and the build tag "node".
package labtest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/lab"
)

// Patience is how long tests wait for what must come.
const Patience = 2 * time.Minute

// Lab is a running node.
type Lab struct {
	tb     testing.TB
	Dir    string
	State  lab.State
	Client *kubernetes.Clientset

	cmd   *exec.Cmd
	ended chan struct{}
	errs  bytes.Buffer
}

// Bin is the path of one of the built programs.
func Bin(tb testing.TB, name string) string {
	tb.Helper()
	dir := os.Getenv("PODSTEP_BIN")
	if dir == "" {
		tb.Fatal("PODSTEP_BIN is not set: run these tests with make test-node")
	}
	path, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// Start starts a node and waits until it is Ready. It ends with the test.
func Start(tb testing.TB, flags ...string) *Lab {
	tb.Helper()
	// Sockets in tb.TempDir would have names too long for the kernel.
	dir, err := os.MkdirTemp("", "lab")
	if err != nil {
		tb.Fatal(err)
	}
	l := &Lab{tb: tb, Dir: dir, ended: make(chan struct{})}
	l.cmd = exec.Command(Bin(tb, "podstep-lab"), append([]string{"--dir", dir, "--runtime", "containerd"}, flags...)...)
	l.cmd.Stderr = &l.errs
	l.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := l.cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(l.end)
	line := make(chan string, 1)
	go func() {
		defer close(l.ended)
		s := bufio.NewScanner(out)
		s.Scan()
		line <- s.Text()
		for s.Scan() {
		}
		_ = l.cmd.Wait()
	}()
	select {
	case first := <-line:
		if !strings.HasPrefix(first, "ready") {
			<-l.ended
			tb.Fatalf("podstep-lab did not get ready: %s", l.errs.String())
		}
		tb.Log(first)
	case <-time.After(Patience):
		tb.Fatal("the node is not ready")
	}
	l.connect()
	return l
}

func (l *Lab) connect() {
	l.tb.Helper()
	var err error
	if l.State, err = lab.ReadState(l.Dir); err != nil {
		l.tb.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", l.State.Kubeconfig)
	if err != nil {
		l.tb.Fatal(err)
	}
	config.QPS, config.Burst = 200, 400
	if l.Client, err = kubernetes.NewForConfig(config); err != nil {
		l.tb.Fatal(err)
	}
}

// Reload reads the lab's state anew, such as the pid of a kubelet that was
// started again.
func (l *Lab) Reload() {
	l.tb.Helper()
	l.connect()
}

// Context ends when the test's patience does.
func (l *Lab) Context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	l.tb.Cleanup(cancel)
	return ctx
}

func (l *Lab) end() {
	if l.tb.Failed() {
		l.showLog("kubelet")
	}
	_ = l.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-l.ended:
	case <-time.After(Patience):
		l.tb.Error("podstep-lab does not end")
		_ = l.cmd.Process.Kill()
	}
	if err := lab.Clean(l.Dir); err != nil {
		l.tb.Errorf("clean: %v", err)
	}
	_ = os.RemoveAll(l.Dir)
}

func (l *Lab) showLog(part string) {
	b, err := os.ReadFile(filepath.Join(l.Dir, "logs", part+".log"))
	if err == nil {
		l.tb.Logf("end of %s.log:\n%s", part, b[max(0, len(b)-6000):])
	}
}

// Agent is a client of the node's agent.
func (l *Lab) Agent() *client.Client {
	l.tb.Helper()
	c, err := client.Dial(l.Context(), l.State.Agent)
	if err != nil {
		l.tb.Fatal(err)
	}
	l.tb.Cleanup(func() { _ = c.Close() })
	return c
}

// Podstep runs the podstep command against the node's agent.
func (l *Lab) Podstep(args ...string) (stdout, stderr string, code int) {
	l.tb.Helper()
	cmd := l.PodstepCmd(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		l.tb.Fatalf("podstep %v: %v", args, err)
	}
	return out.String(), errs.String(), code
}

// PodstepCmd is the podstep command, not started yet.
func (l *Lab) PodstepCmd(args ...string) *exec.Cmd {
	l.tb.Helper()
	cmd := exec.CommandContext(l.Context(), Bin(l.tb, "podstep"), args...)
	cmd.Env = append(os.Environ(), client.SocketEnv+"="+l.State.Agent)
	return cmd
}

// Must runs the podstep command, which must do what it is told.
func (l *Lab) Must(args ...string) string {
	l.tb.Helper()
	out, errs, code := l.Podstep(args...)
	if code != 0 {
		l.tb.Fatalf("podstep %s: exit code %d\n%s%s", strings.Join(args, " "), code, out, errs)
	}
	return out
}
