package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A process is one running part of the lab.
type process struct {
	name  string
	pid   int
	cmd   *exec.Cmd
	begun time.Time
	done  chan struct{} // closed when it has ended
	err   error         // how it ended; set before done is closed
}

// shortLife is the longest life of a part that cannot start: to start it again would not help.
const shortLife = time.Second

// component starts a part of the control plane, which lives in this binary.
func (l *Lab) component(name string, args ...string) error {
	return l.spawnBy(startSlack, name, nil, append([]string{name, "--"}, args...)...)
}

// program starts a part that is a program of its own.
func (l *Lab) program(name string, env []string, path string, args ...string) error {
	return l.spawn(name, env, append([]string{"exec", "--", path}, args...)...)
}

// spawn runs this binary again. It joins the lab's cgroup and then becomes the part.
func (l *Lab) spawn(name string, env []string, args ...string) error {
	return l.spawnBy((*exec.Cmd).Start, name, env, args...)
}

// spawnBy is spawn with another way to start the command.
func (l *Lab) spawnBy(start func(*exec.Cmd) error, name string, env []string, args ...string) error {
	log, err := os.OpenFile(l.paths.log(name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	defer log.Close()
	dir, err := l.workDir(name)
	if err != nil {
		return err
	}
	cmd := exec.Command("/proc/self/exe", append(l.becomes(), args...)...)
	cmd.Args[0] = "podstep-lab"
	cmd.Env = append(l.environment(), env...)
	cmd.Dir = dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Pdeathsig: syscall.SIGKILL,
		Setpgid:   true, // a Ctrl-C in the terminal reaches only this process
	}
	var startErr error
	if err := l.nest.do(func() { startErr = start(cmd) }); err != nil {
		return err
	}
	if err := startErr; err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	return l.watch(&process{name: name, pid: cmd.Process.Pid, cmd: cmd, begun: time.Now(), done: make(chan struct{})})
}

// workDir returns a part's own working directory, which is empty. The kubelet needs one: when it removes a container
// without a log path, its log cleaner removes what the pattern "*" finds in the kubelet's working directory.
func (l *Lab) workDir(part string) (string, error) {
	dir := l.paths.cwd(part)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("start %s: create working directory: %w", part, err)
	}
	return dir, nil
}

// becomes returns the arguments with which this binary becomes a part.
func (l *Lab) becomes() []string {
	if l.state.Cgroup == "" {
		return []string{"component"}
	}
	return []string{"component", "--cgroup", l.names.partsCgroup()}
}

// watch keeps a new process among the lab's, and handles its end.
func (l *Lab) watch(p *process) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
		l.ended(p) // waits for the lock
	}()
	if l.stopping {
		p.cmd.Process.Kill()
		return errStopping
	}
	l.running = append(l.running, p)
	l.state.Pids[p.name] = p.pid
	return l.state.Write()
}

func (l *Lab) ended(p *process) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopping {
		return
	}
	l.running = slices.DeleteFunc(l.running, func(o *process) bool { return o == p })
	delete(l.state.Pids, p.name)
	if again := l.again(p); again != nil && time.Since(p.begun) > shortLife {
		// This is done on another goroutine, because spawn takes the lock.
		go func() {
			if err := again(l.life); err != nil && !errors.Is(err, errStopping) {
				l.die(err)
			}
		}()
		return
	}
	if l.outlives(p) {
		lost := errors.Join(l.died(p), l.state.Write())
		if l.options.Lost != nil {
			l.options.Lost(lost)
		}
		return
	}
	l.die(l.died(p))
}

// again returns the function that starts a part again that has ended. It returns nil if the lab ends with the part.
func (l *Lab) again(p *process) func(context.Context) error {
	switch kindOf(p.name) {
	case "kubelet":
		if l.options.RestartKubelet {
			return l.ground.starts(p.name)
		}
	case "containerd", "simcri":
		if l.options.RestartRuntime {
			return l.ground.starts(p.name)
		}
	}
	return nil
}

// environment returns the variables that the parts get of ours. Proxies are left out, because a lab connects to
// nobody, and so is what a service manager sets.
func (l *Lab) environment() []string {
	env := []string{"PATH=" + searchPath(), "HOME=" + l.paths.node("home"), "TMPDIR=" + l.paths.node("tmp")}
	for _, kv := range os.Environ() {
		// PODSTEP_ is for the agent in the kubelet, the others are for the Go runtime.
		for _, prefix := range []string{"PODSTEP_", "GODEBUG=", "GOTRACEBACK=", "GOMAXPROCS=", "GOCOVERDIR=", "GOGC=", "GOMEMLIMIT="} {
			if strings.HasPrefix(kv, prefix) {
				env = append(env, kv)
			}
		}
	}
	return env
}

// end asks the process to end, and kills it if that takes longer than patience.
func (p *process) end(patience time.Duration) {
	if patience > 0 {
		p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.done:
			return
		case <-time.After(patience):
		}
	}
	p.cmd.Process.Kill()
	<-p.done
}

// tailLines is how many lines of a part's log are shown when the part has died.
const tailLines = 15

// died returns an error that describes the unexpected end of a part, with the end of its log.
func (l *Lab) died(p *process) error {
	how := "it ended by itself"
	var exit *exec.ExitError
	if errors.As(p.err, &exit) {
		how = exit.Error()
	} else if p.err != nil {
		how = p.err.Error()
	}
	file := l.paths.log(p.name)
	last, err := tail(file, tailLines)
	if err != nil || last == "" {
		return fmt.Errorf("%s died (%s); its log %s is empty", p.name, how, file)
	}
	return fmt.Errorf("%s died (%s); the end of %s:\n%s", p.name, how, file, last)
}

// tail returns the last lines of a file, however long the file is.
func tail(file string, lines int) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	const enough = 64 << 10
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-enough), enough))
	if err != nil {
		return "", err
	}
	all := bytes.Split(bytes.TrimRight(text, "\n"), []byte("\n"))
	return string(bytes.Join(all[max(0, len(all)-lines):], []byte("\n"))), nil
}
