package labtest

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/client"
	"github.com/podstep/podstep/agent/labstate"
)

// Attached is a podstep attach beside the kubelet of a lab. Its agent is at the lab's State.Agent, which an
// unmodified kubelet does not use.
type Attached struct {
	PID   int
	Ready chan struct{} // closed when podstep prints that it is attached
	Ended chan struct{} // closed when podstep has ended

	tb      testing.TB
	cmd     *exec.Cmd
	mu      sync.Mutex
	printed bytes.Buffer
}

// WithAgent returns the lab with another agent, such as one beside a woven kubelet.
func (l *Lab) WithAgent(socket string) *Lab {
	c := *l
	c.State.Agent = socket
	return &c
}

// ProgramWithMishaps is podstep for tests: companion.Mishap makes in it what a test wants.
const ProgramWithMishaps = "podstep-mishaps"

// WithProgram returns the lab for which another program is podstep attach.
func (l *Lab) WithProgram(name string) *Lab {
	c := *l
	c.attaches = name
	return &c
}

func (l *Lab) program() string { return cmp.Or(l.attaches, "podstep") }

// WithGroups returns the lab for which podstep attach starts in control groups, named by their directories.
func (l *Lab) WithGroups(dirs ...string) *Lab {
	c := *l
	c.groups = dirs
	return &c
}

// Attach attaches to the lab's kubelet, and returns when podstep is attached. podstep ends with the test at the
// latest.
func (l *Lab) Attach(flags ...string) *Attached {
	l.tb.Helper()
	a := l.StartAttach(flags...)
	select {
	case <-a.Ready:
	case <-a.Ended:
		l.tb.Fatalf("podstep attach ended: %s", a.Printed())
	case <-time.After(Patience):
		l.tb.Fatalf("podstep attach does not get ready: %s", a.Printed())
	}
	return a
}

// StartAttach begins to attach to the lab's kubelet, as it is now.
func (l *Lab) StartAttach(flags ...string) *Attached {
	l.tb.Helper()
	return l.StartAttachTo(l.KubeletPID(), append([]string{"--kubeconfig", l.State.Kubeconfig}, flags...)...)
}

// StartAttachTo begins to attach to a process.
func (l *Lab) StartAttachTo(pid int, flags ...string) *Attached {
	l.tb.Helper()
	receiveHangups()
	a := &Attached{tb: l.tb, Ready: make(chan struct{}), Ended: make(chan struct{})}
	a.cmd = l.inGroups(append([]string{Bin(l.tb, l.program()), "attach", "--no-tui", "--pid", strconv.Itoa(pid)}, flags...))
	a.cmd.Env = append(os.Environ(), client.SocketEnv+"="+l.State.Agent)
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	a.cmd.Stderr = a
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		l.tb.Fatal(err)
	}
	if err := a.cmd.Start(); err != nil {
		l.tb.Fatal(err)
	}
	a.PID = a.cmd.Process.Pid
	go func() {
		defer close(a.Ended)
		s := bufio.NewScanner(out)
		if s.Scan() {
			close(a.Ready)
		}
		for s.Scan() {
		}
		_ = a.cmd.Wait()
	}()
	l.tb.Cleanup(func() {
		_ = a.cmd.Process.Kill()
		<-a.Ended
		if l.tb.Failed() {
			l.tb.Logf("podstep attach, process %d, said:\n%s", a.PID, a.Printed())
		}
	})
	return a
}

// inGroups returns a command that starts in the lab's control groups.
func (l *Lab) inGroups(command []string) *exec.Cmd {
	if len(l.groups) == 0 {
		return exec.Command(command[0], command[1:]...)
	}
	join := ""
	for _, dir := range l.groups {
		join += "echo $$ >" + dir + "/cgroup.procs && "
	}
	return exec.Command("sh", append([]string{"-c", join + `exec "$0" "$@"`}, command...)...)
}

// receiveHangups makes the programs that tests start receive SIGHUP. Under nohup the test ignores it, and its
// children would inherit that; they do not inherit that a signal is caught.
var receiveHangups = sync.OnceFunc(func() {
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
})

// Write takes podstep's output.
func (a *Attached) Write(b []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.printed.Write(b)
}

// Printed returns podstep's output so far.
func (a *Attached) Printed() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.printed.String()
}

// Signal sends podstep a signal.
func (a *Attached) Signal(s syscall.Signal) {
	a.tb.Helper()
	if err := a.cmd.Process.Signal(s); err != nil {
		a.tb.Fatalf("signal podstep attach: %v: %s", err, a.Printed())
	}
}

// End ends podstep by a signal, and returns how long that took.
func (a *Attached) End(s syscall.Signal) time.Duration {
	a.tb.Helper()
	begin := time.Now()
	a.Signal(s)
	if code := a.Wait(); code != 0 {
		a.tb.Errorf("podstep attach ended with code %d: %s", code, a.Printed())
	}
	return time.Since(begin)
}

// Wait waits for podstep's end and returns its exit code; -1: it was killed.
func (a *Attached) Wait() int {
	a.tb.Helper()
	select {
	case <-a.Ended:
	case <-time.After(Patience):
		// At this signal podstep prints its goroutines' stacks, and ends.
		a.Signal(syscall.SIGQUIT)
		<-a.Ended
		a.tb.Fatalf("podstep attach does not end: %s", a.Printed())
	}
	return a.cmd.ProcessState.ExitCode()
}

// Relays returns the relay processes that run for the lab.
func (a *Attached) Relays() []int { return companions("relay", a.PID) }

// Guards returns the guards that run for the lab.
func (a *Attached) Guards() []int { return companions("guard", a.Relays()...) }

// Holders returns the hold processes that run for the lab.
func (a *Attached) Holders() []int { return companions("holder", a.PID) }

// Debuggers returns the debugger processes that run for the lab.
func (a *Attached) Debuggers() []int { return companions("debugger", a.PID) }

// Rescuers returns the rescuer processes that run for the lab.
func (a *Attached) Rescuers() []int { return companions("rescuer", a.Debuggers()...) }

// Children returns the processes that podstep has started and that run, whether or not they have got to their roles.
func (a *Attached) Children() []int {
	return processes(func(p process) bool { return p.parent == a.PID })
}

// companions returns the processes in a role that these processes have started.
func companions(role string, of ...int) []int {
	return processes(func(p process) bool { return slices.Contains(of, p.parent) && p.is(role) })
}

// KubeletPID returns the pid of the lab's kubelet as it is now.
func (l *Lab) KubeletPID() int {
	l.tb.Helper()
	return l.pid("kubelet")
}

// RuntimePID returns the pid of the lab's containerd.
func (l *Lab) RuntimePID() int {
	l.tb.Helper()
	return l.pid("containerd")
}

func (l *Lab) pid(part string) int {
	l.tb.Helper()
	now, err := labstate.Read(l.State.Dir)
	if err != nil {
		l.tb.Fatal(err)
	}
	pid := now.Pids[part]
	if pid == 0 {
		l.tb.Fatalf("the lab has no %s", part)
	}
	return pid
}

// KillPart kills a part that the lab then starts again, and returns when the next one runs.
func (l *Lab) KillPart(part string, signal syscall.Signal) {
	l.tb.Helper()
	old := l.pid(part)
	if err := syscall.Kill(old, signal); err != nil {
		l.tb.Fatalf("kill %s: %v", part, err)
	}
	Eventually(l.tb, fmt.Sprintf("started again: %s", part), func() bool {
		pid := l.pid(part)
		return pid != old
	})
}
