// Package labtest runs a node for tests: it starts podstep-lab as a person would, and gives the test the node's API
// server, its agent and the podstep command.
//
// PODSTEP_BIN names the folder with the built programs, as `make build` fills it. Start and Launch make a node with
// containerd: such tests need root, and the build tag "node". StartSim and LaunchSim make a simulated one, without
// root: such tests have the tag "sim". When root runs them, the lab still runs as the user nobody.
package labtest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"

	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/labstate"
)

// Patience is how long tests wait for what must happen. Tests on a slow machine set it higher.
var Patience = 2 * time.Minute

// Lab is a running node, as one test sees it.
type Lab struct {
	tb     testing.TB
	Dir    string
	State  labstate.State
	Client *kubernetes.Clientset

	run      *run
	groups   []string // in which podstep attach starts
	attaches string   // the program that is podstep attach; empty: podstep
}

// run is the podstep-lab process. Tests that share a node share it.
type run struct {
	cmd   *exec.Cmd
	ended chan struct{}
	errs  bytes.Buffer
}

// Of returns the lab of a podstep-lab that the test itself started, and ends.
func Of(tb testing.TB, s labstate.State) *Lab { return &Lab{tb: tb, Dir: s.Dir, State: s} }

// Bin returns the path of one of the built programs.
func Bin(tb testing.TB, name string) string {
	tb.Helper()
	path, err := bin(name)
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

func bin(name string) (string, error) {
	dir := os.Getenv("PODSTEP_BIN")
	if dir == "" {
		return "", errors.New("PODSTEP_BIN is not set: run these tests with make test-node or make test-sim")
	}
	return filepath.Abs(filepath.Join(dir, name))
}

// Start starts a node and waits until it is Ready. The node ends with the test.
func Start(tb testing.TB, flags ...string) *Lab {
	tb.Helper()
	return started(tb, Launch, flags)
}

// StartSim is Start for a sim lab.
func StartSim(tb testing.TB, flags ...string) *Lab {
	tb.Helper()
	return started(tb, LaunchSim, flags)
}

func started(tb testing.TB, launch func(...string) (*Lab, error), flags []string) *Lab {
	tb.Helper()
	shared, err := launch(flags...)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := shared.Stop(); err != nil {
			tb.Error(err)
		}
	})
	return shared.For(tb)
}

// Launch starts a node for several tests and waits until it is Ready. Each test uses it through For. The caller must
// call Stop.
func Launch(flags ...string) (*Lab, error) {
	return launch(labstate.Containerd, flags)
}

// LaunchSim is Launch for a sim lab.
func LaunchSim(flags ...string) (*Lab, error) {
	return launch(labstate.Sim, flags)
}

func launch(runtime string, flags []string) (*Lab, error) {
	// Sockets in a test's TempDir would have names too long for the kernel.
	dir, err := os.MkdirTemp("", "lab")
	if err != nil {
		return nil, err
	}
	l := &Lab{Dir: dir, run: &run{ended: make(chan struct{})}}
	cmd, err := Command(runtime, dir, flags...)
	if err == nil {
		err = l.launch(cmd)
	}
	if err != nil {
		return nil, errors.Join(err, l.Stop())
	}
	return l, nil
}

// nobody is the user that runs simulated nodes for root.
const nobody = 65534

// Command returns a podstep-lab in dir that is not started yet. A sim lab never runs as root: if root calls, the lab
// and dir are the user nobody's.
func Command(runtime, dir string, flags ...string) (*exec.Cmd, error) {
	program, err := bin("podstep-lab")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, append([]string{"--dir", dir, "--runtime", runtime}, flags...)...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if runtime == labstate.Containerd || os.Geteuid() != 0 {
		return cmd, nil
	}
	// The user nobody may not reach the program by its path, but can run it from an open file.
	f, err := os.Open(program)
	if err != nil {
		return nil, err
	}
	cmd.Path, cmd.ExtraFiles = "/proc/self/fd/3", []*os.File{f}
	cmd.Dir = "/"
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	return cmd, os.Chown(dir, nobody, nobody)
}

func (l *Lab) launch(cmd *exec.Cmd) error {
	r := l.run
	cmd.Stderr = &r.errs
	line := make(chan string, 1)
	started := make(chan error, 1)
	go r.run(cmd, started, line)
	if err := <-started; err != nil {
		return err
	}
	select {
	case first := <-line:
		if !strings.HasPrefix(first, "ready") {
			<-r.ended
			return fmt.Errorf("podstep-lab did not get ready: %s", r.errs.String())
		}
	case <-time.After(Patience):
		return errors.New("the node is not ready")
	}
	return l.connect()
}

// run starts podstep-lab, sends the first line that it prints, and waits for its end. The lab gets a signal when the
// thread that started it ends. That is this goroutine's own, so the lab ends with this process, however that ends.
func (r *run) run(cmd *exec.Cmd, started chan<- error, line chan<- string) {
	runtime.LockOSThread()
	cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		started <- err
		return
	}
	for _, f := range cmd.ExtraFiles {
		_ = f.Close() // the child has its own
	}
	r.cmd = cmd
	defer close(r.ended)
	started <- nil
	s := bufio.NewScanner(out)
	s.Scan()
	line <- s.Text()
	for s.Scan() {
	}
	_ = r.cmd.Wait()
}

func (l *Lab) connect() error {
	var err error
	if l.State, err = labstate.Read(l.Dir); err != nil {
		return err
	}
	if err := l.own(); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", l.State.Kubeconfig)
	if err != nil {
		return err
	}
	config.QPS, config.Burst = 200, 400
	l.Client, err = kubernetes.NewForConfig(config)
	return err
}

// own makes root and its commands trust the agent of the user nobody, as root trusts the agent of the user that
// called sudo.
func (l *Lab) own() error {
	if l.State.Runtime != labstate.Sim || os.Geteuid() != 0 {
		return nil
	}
	return os.Setenv("SUDO_UID", strconv.Itoa(nobody))
}

// For returns the lab for one test. Its failures fail that test, which then logs the end of the kubelet's log.
func (l *Lab) For(tb testing.TB) *Lab {
	c := *l
	c.tb = tb
	tb.Cleanup(func() {
		if tb.Failed() {
			c.showLog("kubelet")
		}
	})
	return &c
}

// Stop ends the node and removes all of it.
func (l *Lab) Stop() error {
	var errs []error
	if r := l.run; r.cmd != nil {
		_ = r.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-r.ended:
		case <-time.After(Patience):
			errs = append(errs, errors.New("podstep-lab does not end"))
			_ = r.cmd.Process.Kill()
		}
	}
	errs = append(errs, Clean(l.Dir))
	return errors.Join(append(errs, os.RemoveAll(l.Dir))...)
}

// Clean removes what a lab left in dir, however it ended.
func Clean(dir string) error {
	program, err := bin("podstep-lab")
	if err != nil {
		return err
	}
	if out, err := exec.Command(program, "clean", "--dir", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("clean %s: %w: %s", dir, err, out)
	}
	return nil
}

// Reload reads the lab's state anew, such as the pid of a kubelet that was
// started again.
func (l *Lab) Reload() {
	l.tb.Helper()
	if err := l.connect(); err != nil {
		l.tb.Fatal(err)
	}
}

// Context returns a context for one request: it ends after Patience. A watch that lasts longer needs the context of the test.
func (l *Lab) Context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	l.tb.Cleanup(cancel)
	return ctx
}

func (l *Lab) showLog(part string) {
	b, err := os.ReadFile(filepath.Join(l.Dir, "logs", part+".log"))
	if err == nil {
		l.tb.Logf("end of %s.log:\n%s", part, b[max(0, len(b)-20000):])
	}
}

// Agent returns a client of the node's agent.
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
	cmd := l.podstepCmd(l.Context(), args...)
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

// PodstepCmd returns the podstep command, not started yet. It may run for as long as the test does.
func (l *Lab) PodstepCmd(args ...string) *exec.Cmd {
	l.tb.Helper()
	return l.podstepCmd(l.tb.Context(), args...)
}

func (l *Lab) podstepCmd(ctx context.Context, args ...string) *exec.Cmd {
	l.tb.Helper()
	cmd := exec.CommandContext(ctx, Bin(l.tb, "podstep"), args...)
	cmd.Env = append(os.Environ(), client.SocketEnv+"="+l.State.Agent)
	return cmd
}

// Kubectl returns podstep-lab's kubectl, as the lab's administrator, not started yet.
func (l *Lab) Kubectl(ctx context.Context, args ...string) *exec.Cmd {
	l.tb.Helper()
	return exec.CommandContext(ctx, Bin(l.tb, "podstep-lab"), append([]string{"kubectl", "--dir", l.Dir}, args...)...)
}

// Must runs the podstep command, which must succeed, and returns its output.
func (l *Lab) Must(args ...string) string {
	l.tb.Helper()
	out, errs, code := l.Podstep(args...)
	if code != 0 {
		l.tb.Fatalf("podstep %s: exit code %d\n%s%s", strings.Join(args, " "), code, out, errs)
	}
	return out
}
