package simcri

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/lab/simcri/ash"
)

// task stands for a container's first process.
type task struct {
	c           *container
	config      *runtimeapi.ContainerConfig // as it was at the start
	ctx         context.Context
	cancel      context.CancelFunc
	term        signal
	killed      signal
	done        chan struct{}  // closed when the container has exited
	program     *ash.Process   // nil when the command is not understood
	stdin       io.WriteCloser // nil unless the container has one
	ports       sync.WaitGroup
	began       time.Time
	nodeAddress string
}

// signal is an event that happens once.
type signal struct {
	once sync.Once
	came chan struct{}
}

func (s *signal) send() { s.once.Do(func() { close(s.came) }) }

func (t *task) terminate() { t.term.send() }
func (t *task) kill()      { t.killed.send() }

// startTask starts a container's task. s.mu is held.
func (s *Server) startTask(c *container) {
	t := &task{c: c, config: c.config, done: make(chan struct{}), began: time.Now(), nodeAddress: s.opts.NodeAddress.String(),
		term: signal{came: make(chan struct{})}, killed: signal{came: make(chan struct{})}}
	t.ctx, t.cancel = context.WithCancel(s.ctx)
	c.task = t
	argv := commandOf(c.config, c.image)
	address := s.addressOf(c.sandbox)
	out, errOut := c.log.stream("stdout"), c.log.stream("stderr")

	program, err := ash.Parse(argv)
	ports := c.behaviour.ports
	if err == nil {
		env := s.environment(t, address, out, errOut)
		env.Stdin = t.openStdin(&env)
		t.program = ash.Start(t.ctx, program, env)
	} else {
		fmt.Fprintf(errOut, "simcri: no process runs here; %q is taken for a program that runs until it is stopped\n", strings.Join(argv, " "))
		ports = append(declaredPorts(c), ports...)
	}
	for _, port := range ports {
		t.ports.Go(func() {
			if err := t.listen(t.ctx, address, port, answerOK); err != nil {
				fmt.Fprintf(errOut, "simcri: port %d is closed: %v\n", port, err)
			}
		})
	}
	if c.behaviour.log != "" {
		t.ports.Go(func() { t.print(out) })
	}
	s.tasks.Go(func() { s.watch(t) })
}

// environment returns the environment of a container's commands.
func (s *Server) environment(t *task, address string, out, errOut io.Writer) ash.Env {
	c := t.c
	vars := map[string]string{"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}
	vars["HOSTNAME"] = c.sandbox.config.GetHostname()
	for _, kv := range t.config.GetEnvs() {
		vars[kv.GetKey()] = string(kv.GetValue())
	}
	for _, kv := range c.deviceEnv {
		key, value, _ := strings.Cut(kv, "=")
		vars[key] = value
	}
	return ash.Env{
		Vars: vars, User: userOf(t.config, c.image), Dir: t.config.GetWorkingDir(), Hostname: c.sandbox.config.GetHostname(),
		Files: c.files, Stdout: out, Stderr: errOut,
		Serve: func(ctx context.Context, port int, dir string) error {
			return t.listen(ctx, address, port, serveFiles(c.files, dir))
		},
	}
}

// openStdin makes the container's stdin, if it has one. Clients that attach write to it, and it stays open between
// them.
func (t *task) openStdin(env *ash.Env) io.Reader {
	if !t.config.GetStdin() {
		return nil
	}
	r, w := io.Pipe()
	context.AfterFunc(t.ctx, func() { r.Close() })
	t.stdin = w
	if t.config.GetTty() {
		env.Prompt = prompt
	}
	return r
}

// print prints what the annotations make the container print.
func (t *task) print(out io.Writer) {
	for {
		fmt.Fprintln(out, t.c.behaviour.log)
		if t.c.behaviour.logEvery == 0 || pass(t.ctx, t.c.behaviour.logEvery) != nil {
			return
		}
	}
}

// watch waits for the container's end, however it ends.
func (s *Server) watch(t *task) {
	how := t.run()
	t.cancel()
	if t.program != nil {
		<-t.program.Done()
	}
	t.ports.Wait()
	t.leaveMessage()
	t.c.log.close()
	s.mu.Lock()
	s.end(t.c, how)
	s.mu.Unlock()
	close(t.done)
}

// run runs the container, and returns how it ended.
func (t *task) run() ending {
	b, attempt := t.c.behaviour, int(t.c.meta.GetAttempt())
	var programDone <-chan struct{}
	if t.program != nil {
		programDone = t.program.Done()
	}
	exit := after(b.exits && (b.exitTimes == 0 || attempt < b.exitTimes), b.exitAfter)
	oom := after(b.ooms && (b.oomTimes == 0 || attempt < b.oomTimes), b.oomAfter)
	term, termCame := (<-chan time.Time)(nil), (<-chan struct{})(t.term.came)
	for {
		select {
		case <-programDone:
			return ended(int32(t.program.Wait()))
		case <-exit:
			return ended(b.exit)
		case <-oom:
			return ending{137, "OOMKilled", ""}
		case <-termCame:
			termCame = nil
			if ends, wait := t.onTerm(); ends {
				term = after(true, wait)
			}
		case <-term:
			return ended(b.termCode())
		case <-t.killed.came:
			return ended(ash.Killed)
		case <-t.ctx.Done():
			return ended(ash.Killed)
		}
	}
}

// after returns a channel that is ready when the time has passed, or never.
func after(ever bool, d time.Duration) <-chan time.Time {
	if !ever {
		return nil
	}
	return time.After(d)
}

func ended(code int32) ending {
	if code == 0 {
		return ending{0, "Completed", ""}
	}
	return ending{code, "Error", ""}
}

func (b behaviour) termCode() int32 {
	if b.termExits {
		return b.termExit
	}
	return 143
}

// onTerm reports whether SIGTERM ends the container, and after how long. A command
// that is understood sets no handler but a shell's trap, and the kernel keeps a
// signal without one from process 1: such a container has to be killed. It is
// process 1 unless the pod, or the node, shares its PID namespace.
func (t *task) onTerm() (ends bool, wait time.Duration) {
	switch t.c.behaviour.term {
	case "exit":
		return true, 0
	case "ignore":
		return false, 0
	case "after":
		return t.c.behaviour.termAfter < forever, t.c.behaviour.termAfter
	}
	if t.program == nil {
		return true, 0
	}
	if t.program.Terminate() {
		return false, 0
	}
	pid := t.c.sandbox.config.GetLinux().GetSecurityContext().GetNamespaceOptions().GetPid()
	return pid != runtimeapi.NamespaceMode_CONTAINER || t.c.behaviour.termExits, 0
}

// ready reports whether health probes are to succeed.
func (t *task) ready() bool {
	b, age := t.c.behaviour, time.Since(t.began)
	return age >= b.readyAfter && (b.unhealthyAfter == 0 || age < b.unhealthyAfter)
}

// messageAnnotation is where the kubelet writes the path of the termination message.
const messageAnnotation = "io.kubernetes.container.terminationMessagePath"

// leaveMessage writes the termination message that annotations state.
func (t *task) leaveMessage() {
	path := t.config.GetAnnotations()[messageAnnotation]
	if t.c.behaviour.message == "" || path == "" {
		return
	}
	f, err := t.c.files.Create(path, false)
	if err == nil {
		_, err = io.WriteString(f, t.c.behaviour.message)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		fmt.Fprintf(t.c.log.stream("stderr"), "simcri: the termination message is not written: %v\n", err)
	}
}
