//go:build sim

package lab_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/podstep/podstep/agent/labstate"
	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/lab"
	"github.com/podstep/podstep/probes"
)

func isStep(step string, kind probes.Kind) func(probes.Event) bool {
	return func(e probes.Event) bool { return e.Step == step && e.Kind == kind }
}

func kill(t *testing.T, pid int) {
	t.Helper()
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// watchParts returns a function that waits until every process of the lab has ended.
func watchParts(t *testing.T, l *labtest.Lab) (wait func()) {
	t.Helper()
	fds := map[string]int{}
	for name, pid := range l.State.Pids {
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatalf("watch %s: %v", name, err)
		}
		fds[name] = fd
	}
	return func() {
		t.Helper()
		for name, fd := range fds {
			if !ends(fd) {
				t.Errorf("%s does not end", name)
			}
			unix.Close(fd)
		}
	}
}

func ends(pidfd int) bool {
	for {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, int(labtest.Patience.Milliseconds()))
		if !errors.Is(err, unix.EINTR) {
			return err == nil && n > 0
		}
	}
}

func onlyLogs(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "logs" && e.Name() != "lab.lock" {
			t.Errorf("%s is left", filepath.Join(dir, e.Name()))
		}
	}
}

// TestSimEnds: an orderly end leaves only logs. A kill ends all parts too. A lab starts again in a directory after
// either.
func TestSimEnds(t *testing.T) {
	dir := shortDir(t)
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
		cmd := command(t, dir)
		state := untilReady(t, cmd, dir)
		gone := watchParts(t, labtest.Of(t, state))
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		err := cmd.Wait()
		gone()
		if signal == syscall.SIGKILL {
			continue
		}
		if err != nil {
			t.Errorf("after %v: %v", signal, err)
		}
		onlyLogs(t, dir)
	}
	if err := lab.Clean(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", dir, err)
	}
}

// TestSimPartDies: when a part dies, the lab names it and ends.
func TestSimPartDies(t *testing.T) {
	for _, part := range []string{"simcri", "kubelet"} {
		dir := shortDir(t)
		cmd := command(t, dir)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		state := untilReady(t, cmd, dir)
		kill(t, state.Pids[part])
		if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 1 {
			t.Errorf("without %s the lab ended with %v", part, err)
		}
		if !strings.Contains(errs.String(), part+" died (signal: killed)") {
			t.Errorf("without %s the lab says %q", part, errs.String())
		}
		onlyLogs(t, dir)
	}
}

// TestSimTwoLabs: two labs do not disturb each other.
func TestSimTwoLabs(t *testing.T) {
	one, other := shared.For(t), labtest.StartSim(t)
	for _, l := range []*labtest.Lab{one, other} {
		l.Create(labtest.BusyboxPod("same", labtest.Sleep))
	}
	if a, b := one.UntilReady("same"), other.UntilReady("same"); a.Status.PodIP == b.Status.PodIP {
		t.Errorf("pods of two labs have the address %s", a.Status.PodIP)
	}
	one.Delete("same")
	one.UntilGone("same")
}

// machine lists what a lab must leave as it was, also if root runs it. Things of labs in other directories are left
// out.
func machine(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	for _, file := range []string{"/proc/self/mountinfo", "/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/panic", "/proc/sys/kernel/panic_on_oops"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, file+": "+string(text))
	}
	for _, pattern := range []string{"/run/*", "/var/run/*", "/var/lib/*", "/var/lib/kubelet/*", "/var/log/*", "/var/log/containers/*", "/var/log/pods/*", "/etc/*", "/usr/libexec/*", "/sys/fs/cgroup/*", "/sys/fs/cgroup/*/*", "/sys/class/net/*"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, slices.DeleteFunc(found, func(path string) bool { return ofOtherLab(path, dir) })...)
	}
	return all
}

// ofOtherLab reports whether a path is a control group or network device of a test, or of a lab that is not in dir.
func ofOtherLab(path, dir string) bool {
	cgroup, bridge := lab.Names(dir)
	name := filepath.Base(path)
	if master, err := os.Readlink(filepath.Join(path, "master")); err == nil {
		name = filepath.Base(master) // a pod's device belongs to the lab of its bridge
	}
	switch {
	case strings.HasPrefix(path, "/sys/class/net/"):
		return strings.HasPrefix(name, "pstep") && name != bridge
	case strings.HasPrefix(path, "/sys/fs/cgroup/"):
		return strings.HasPrefix(name, "podstep-") && name != filepath.Base(cgroup)
	}
	return false
}

// unchanged fails the test if something new stays on the machine. For a moment the device of another lab's pod is on
// no bridge.
func unchanged(t *testing.T, when, dir string, before []string) {
	t.Helper()
	var added []string
	defer func() { t.Logf("new on the machine %s: %q", when, added) }()
	labtest.Eventually(t, "nothing new on the machine "+when, func() bool {
		added = slices.DeleteFunc(machine(t, dir), func(what string) bool { return slices.Contains(before, what) })
		return len(added) == 0
	})
}

// TestSimAsRoot: a lab that root runs is as harmless as any.
func TestSimAsRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	dir := shortDir(t)
	before := machine(t, dir)
	cmd := exec.Command(labtest.Bin(t, "podstep-lab"), "--dir", dir)
	l := labtest.Of(t, untilReady(t, cmd, dir))
	kubectl(t, l, "apply", "-f", filepath.Join(examples, "web.yaml"))
	kubectl(t, l, "wait", "--for=condition=Ready", "--timeout=60s", "pod/web")
	unchanged(t, "while the lab runs", dir, before)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	unchanged(t, "when the lab has ended", dir, before)
	onlyLogs(t, dir)
}

// shortDir returns a directory that does not exist yet, with a name short enough for sockets. At the test's end the
// directory is removed.
func shortDir(t *testing.T) string {
	t.Helper()
	parent, err := os.MkdirTemp("", "lab")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(parent) })
	return filepath.Join(parent, "n")
}

// killedTest is set for the test process that is to be killed.
const killedTest = "PODSTEP_KILLED_TEST"

// TestLabOfKilledTest: a lab ends with the tests that started it, however they end.
func TestLabOfKilledTest(t *testing.T) {
	if os.Getenv(killedTest) != "" {
		fmt.Println(labtest.StartSim(t).Dir)
		select {}
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), killedTest+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	dir := strings.TrimSpace(line)
	if err != nil || !filepath.IsAbs(dir) {
		t.Fatalf("the test printed %q: %v", line, err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	state, err := labstate.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	wait := watchParts(t, labtest.Of(t, state))
	kill(t, cmd.Process.Pid)
	_ = cmd.Wait()
	wait()
}

// command returns the command of a sim lab in dir, which is not started yet.
func command(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd, err := labtest.Command(labstate.Sim, dir)
	if err != nil {
		t.Fatal(err)
	}
	return cmd
}

// untilReady starts the lab and waits for its ready line.
func untilReady(t *testing.T, cmd *exec.Cmd, dir string) labstate.State {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "ready in ") || !strings.Contains(line, "  agent ") {
		t.Fatalf("podstep-lab says %q: %v", line, err)
	}
	state, err := labstate.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if state.Pids["podstep-lab"] != cmd.Process.Pid {
		t.Errorf("the state names %s", strconv.Itoa(state.Pids["podstep-lab"]))
	}
	return state
}
