// Package ash understands the few commands of a small Unix image that the
// containers of examples, health probes and hooks are made of: a shell's lists,
// loops and redirections, and echo, sleep, test, cat, cp, httpd and their like.
//
// No process is run. A command line is either understood as a whole, and then it
// does on the container's files and ports what the real one would do, or it is
// refused when it is parsed (ErrUnknown), and nothing of it happens.
package ash

import (
	"context"
	"errors"
	"io"
	"io/fs"
)

// ErrUnknown is wrapped by Parse when a command line holds anything that this
// package does not know to do exactly.
var ErrUnknown = errors.New("not understood")

// Files are the files that commands see. Names are absolute and clean.
type Files interface {
	Open(name string) (io.ReadCloser, error)
	// Create opens a file for writing, truncated unless appending.
	Create(name string, appending bool) (io.WriteCloser, error)
	Stat(name string) (fs.FileInfo, error)
	// List gives the names in a directory, sorted.
	List(name string) ([]string, error)
	Mkdir(name string) error
	// Remove removes a file, or a directory with all that is in it.
	Remove(name string) error
}

// Env is what a program runs with.
type Env struct {
	Vars     map[string]string
	Dir      string // the working directory
	Hostname string
	User     User
	Files    Files
	Stdin    io.Reader // nil is an empty one; a read must end with the context
	Prompt   string    // what a shell prints before it reads a line
	// Interrupt, if there are keys, begins a line: what it gives is closed when the
	// interrupt key is typed, and reads from Stdin fail from then on until the next
	// line begins.
	Interrupt      func() <-chan struct{}
	Stdout, Stderr io.Writer // safe for use by several goroutines
	// Serve answers HTTP on a port with the files under a directory until the
	// context ends. An error means that the port cannot be had.
	Serve func(ctx context.Context, port int, dir string) error
}

// Killed is the exit code of a program whose context ended.
const Killed = 137

// Process is a program that runs.
type Process struct {
	main   *shell
	cancel context.CancelFunc
	done   chan struct{}
	code   int
}

// Start runs a program on goroutines of its own. They end with the program, and
// with the context at the latest.
func Start(ctx context.Context, p *Program, env Env) *Process {
	ctx, cancel := context.WithCancel(ctx)
	proc := &Process{main: newShell(ctx, env), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(proc.done)
		defer cancel()
		proc.code = proc.main.runAll(p.body)
		cancel()
		proc.main.jobs.Wait()
	}()
	return proc
}

// Done is closed when the program and all it put in the background have ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait waits for the end and gives the exit code.
func (p *Process) Wait() int {
	<-p.done
	return p.code
}

// Terminate delivers SIGTERM and reports whether the program has a trap for it.
// A program that has none does not notice, as process 1 of a PID namespace.
func (p *Process) Terminate() bool { return p.main.signal() }
