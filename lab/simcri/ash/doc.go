// Package ash understands the few commands of a small Unix image that containers of examples, health probes and hooks
// use: a shell's lists, loops and redirections, and echo, sleep, test, cat, cp, httpd and their like.
//
// No process is run, and files are opened only through Files. The shell itself is mvdan.cc/sh's interpreter. Whatever
// it would do to the machine goes to handlers of this package. A command line that is understood as a whole does to
// the container's files and ports what the real one would do. Any other is refused when it is parsed (ErrUnknown),
// and no part of it runs.
package ash

import (
	"context"
	"errors"
	"io"
	"io/fs"
)

// Parse wraps ErrUnknown if a command line has a part that this package cannot run exactly.
var ErrUnknown = errors.New("not understood")

// Files are the files that commands see. Names are absolute and clean.
type Files interface {
	Open(name string) (io.ReadCloser, error)
	// Create opens a file for writing, truncated unless appending.
	Create(name string, appending bool) (io.WriteCloser, error)
	Stat(name string) (fs.FileInfo, error)
	// List returns the names in a directory, sorted.
	List(name string) ([]string, error)
	Mkdir(name string) error
	// Remove removes a file, or a directory with all that is in it.
	Remove(name string) error
}

// Env is the environment in which a program runs.
type Env struct {
	Vars     map[string]string
	Dir      string // the working directory
	Hostname string
	User     User
	Files    Files
	Stdin    io.Reader // nil is an empty input; a read must end with the context
	Prompt   string    // what a shell prints before it reads a line
	// Interrupt is set if there is a keyboard. It begins a line, and returns a channel that is closed when the
	// interrupt key is typed. From then on reads from Stdin fail, until the next line begins.
	Interrupt      func() <-chan struct{}
	Stdout, Stderr io.Writer // safe for use by several goroutines
	// Serve answers HTTP on a port with the files under a directory until the context ends. It fails if the port is
	// not free.
	Serve func(ctx context.Context, port int, dir string) error
}

// Killed is the exit code of a program whose context ended.
const Killed = 137

// Process is a program that runs.
type Process struct {
	main *shell
	done chan struct{}
	code int
}

// Start runs a program on goroutines of its own. They end with the program, and at the latest with the context.
func Start(ctx context.Context, p *Program, env Env) *Process {
	ctx, cancel := context.WithCancel(ctx)
	vars := environ{}
	for name, value := range env.Vars {
		vars[name] = variable(value)
	}
	proc := &Process{main: newShell(ctx, env, *p, vars, abs("/", env.Dir), &turns{}), done: make(chan struct{})}
	go func() {
		defer close(proc.done)
		proc.code = proc.main.runAll()
		cancel()
		proc.main.jobs.Wait()
	}()
	return proc
}

// Done is closed when the program has ended, with everything that it put in the background.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for the end and returns the exit code.
func (p *Process) Wait() int {
	<-p.done
	return p.code
}

// Terminate delivers SIGTERM and reports whether the program has a trap for it. Without a trap the program ignores
// it, as does process 1 of a PID namespace.
func (p *Process) Terminate() bool { return p.main.traps.signal() }
