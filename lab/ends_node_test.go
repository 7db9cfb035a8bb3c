//go:build node

package lab

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/agent/labstate"
)

// refused runs a lab that must not start, and returns what it prints.
func refused(t *testing.T, code int, dir string, flags ...string) string {
	t.Helper()
	out, err := labCommand(t, dir, flags...).CombinedOutput()
	if err == nil {
		t.Fatalf("podstep-lab %v started", flags)
	}
	text := string(out)
	if !strings.Contains(err.Error(), "exit status") || !strings.HasSuffix(err.Error(), string(rune('0'+code))) {
		t.Errorf("%v instead of exit status %d: %s", err, code, text)
	}
	return text
}

func TestRefused(t *testing.T) {
	dir := labDir(t)
	l := startLab(t, dir)
	want := func(got, want string) {
		t.Helper()
		if !strings.Contains(got, want) {
			t.Errorf("podstep-lab says %q, not %q", got, want)
		}
	}
	want(refused(t, 1, dir), "a lab is running in")
	other := labDir(t)
	want(refused(t, 1, other, "--port", strconv.Itoa(l.state.Ports["kube-apiserver"])), "is in use")
	want(refused(t, 1, other, "--kubelet", "/no/such/kubelet"), "give --kubelet PATH")
	want(refused(t, 2, other, "--runtime", "sim"), "--runtime containerd")
	want(refused(t, 2, other, "--no-such-flag"), "--help")

	full := t.TempDir()
	file := filepath.Join(full, "precious")
	if err := os.WriteFile(file, []byte("data"), 0o644); err != nil {
		t.Fatal(err)
	}
	want(refused(t, 1, full), "not the directory of a lab")
	if err := Clean(full); err == nil {
		t.Error("clean takes a directory that is not a lab's")
	}
	if _, err := os.Stat(file); err != nil {
		t.Error(err)
	}
	l.stop()
}

// When a part dies the lab ends, and says which part it was and why.
func TestPartDies(t *testing.T) {
	before := lookAtMachine(t)
	for _, part := range []string{"containerd", "kube-scheduler", "kubelet"} {
		l := startLab(t, labDir(t))
		if err := unix.Kill(l.state.Pids[part], unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		l.waitEnd()
		if code := l.cmd.ProcessState.ExitCode(); code != 1 {
			t.Errorf("podstep-lab ended with code %d", code)
		}
		printed := l.errs.String()
		if !strings.Contains(printed, part+" died (signal: killed); the end of") {
			t.Errorf("podstep-lab says %q", printed)
		}
		nothingLeft(t, l.names, l.dir)
	}
	before.same(t)
}

// A kubelet that does not start gives a clear error.
func TestKubeletThatFails(t *testing.T) {
	before := lookAtMachine(t)
	dir := labDir(t)
	got := refused(t, 1, dir, "--kubelet", "/bin/false")
	if !strings.Contains(got, "kubelet died (exit status 1)") {
		t.Errorf("podstep-lab says %q", got)
	}
	real, _ := resolve(dir)
	nothingLeft(t, namesOf(real), real)
	before.same(t)
}

func TestRestartKubelet(t *testing.T) {
	l := startLab(t, labDir(t), "--restart-kubelet")
	ctx := testContext(t)
	l.create(ctx, "web.yaml")
	l.until(ctx, "web", "Ready", isReady)
	old := l.state.Pids["kubelet"]
	fd, err := unix.PidfdOpen(old, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(old, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	waitPidfd(t, "kubelet", fd)
	l.create(ctx, "job.yaml")
	l.untilComplete(ctx, "job")
	state, err := labstate.Read(l.state.Dir)
	if err != nil {
		t.Fatal(err)
	}
	if pid := state.Pids["kubelet"]; pid == old || pid == 0 {
		t.Errorf("the kubelet's pid was %d and is %d", old, pid)
	}
	l.delete(ctx, "web")
	l.stop()
	nothingLeft(t, l.names, l.dir)
}

// A lab that is ended while it starts leaves nothing either.
func TestEndedEarly(t *testing.T) {
	before := lookAtMachine(t)
	dir := labDir(t)
	cmd := labCommand(t, dir)
	errs, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// Now the first part is ready.
	if _, err := errs.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	cmd.Process.Signal(syscall.SIGINT)
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("podstep-lab ended with code %d", code)
	}
	real, _ := resolve(dir)
	nothingLeft(t, namesOf(real), real)
	onlyLogs(t, real)
	before.same(t)
}
