package ash

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// shell is a running program, or a part of it in the background. The interpreter runs it; the interpreter's handlers
// are the shell's methods.
type shell struct {
	ctx     context.Context
	env     Env
	runner  *interp.Runner
	program Program
	turned  map[string]int // the exit code of each loop's last turn, by the loop's number
	jobs    sync.WaitGroup
	traps   traps
	turns   *turns
}

// newShell makes a shell with these variables in this directory.
func newShell(ctx context.Context, env Env, p Program, vars environ, dir string, t *turns) *shell {
	sh := &shell{ctx: ctx, env: env, program: p, turned: map[string]int{}, turns: t, traps: traps{set: map[string]bool{}, signalled: make(chan struct{})}}
	// The interpreter bypasses the handlers for files in TMPDIR that look like its own pipes: no file can have this
	// name.
	tmp, isSet := vars["TMPDIR"]
	vars["TMPDIR"] = variable("/\x00")
	for _, name := range []string{"HOME", "UID", "EUID", "GID"} { // else it takes the machine's
		if _, ok := vars[name]; !ok {
			vars[name] = expand.Variable{Set: true, Kind: expand.String}
		}
	}
	var err error
	sh.runner, err = interp.New(interp.Env(vars), interp.StdIO(nil, env.Stdout, env.Stderr), interp.Params("-f"),
		func(r *interp.Runner) error { r.Dir = dir; return nil }, // interp.Dir would look for the directory on the machine
		interp.CallHandler(sh.call), interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return sh.exec }),
		interp.OpenHandler(sh.open), interp.StatHandler(sh.stat), interp.AccessHandler(sh.access))
	if err != nil {
		panic(err) // none of the options fails
	}
	sh.runner.Reset()
	if delete(vars, "TMPDIR"); isSet {
		vars["TMPDIR"] = tmp
	}
	return sh
}

// environ are variables.
type environ map[string]expand.Variable

// Get returns a variable, or one that is not set.
func (e environ) Get(name string) expand.Variable { return e[name] }

// Each calls do for each variable until it returns false.
func (e environ) Each(do func(string, expand.Variable) bool) {
	for name, v := range e {
		if !do(name, v) {
			return
		}
	}
}

// variable returns a variable that programs see.
func variable(value string) expand.Variable {
	return expand.Variable{Set: true, Exported: true, Kind: expand.String, Str: value}
}

// runAll runs the whole program and its trap for EXIT, and waits for its background.
func (sh *shell) runAll() int {
	var code int
	if sh.program.interactive {
		code = sh.readLines()
	} else {
		code = sh.run(sh.ctx, sh.program.stmts...)
	}
	if sh.traps.has(onExit) {
		code = sh.run(sh.ctx, hidden(onExit, strconv.Itoa(code)))
	}
	if sh.ctx.Err() != nil {
		return Killed
	}
	return code
}

// run runs statements and returns the exit code of the last.
func (sh *shell) run(ctx context.Context, stmts ...*syntax.Stmt) int {
	err := sh.runner.Run(ctx, &syntax.File{Stmts: stmts})
	if err == nil {
		return 0
	}
	if code, ok := errors.AsType[interp.ExitStatus](err); ok {
		return int(code)
	}
	return 1
}

// call replaces the words of some commands before they run.
func (sh *shell) call(ctx context.Context, args []string) ([]string, error) {
	hc := interp.HandlerCtx(ctx)
	last := strconv.Itoa(hc.LastExitStatus)
	switch name := args[0]; name {
	case "signal":
		if sh.traps.takeSignal() {
			return []string{onTerm, last}, nil
		}
		return []string{"status", last}, nil
	case "exit":
		if len(args) > 1 {
			if _, err := strconv.Atoi(args[1]); err != nil {
				return []string{name, "2"}, nil
			}
		}
	case "cd":
		dir := hc.Env.Get("HOME").String()
		if len(args) > 1 {
			dir = args[1]
		}
		dir = abs(hc.Dir, dir)
		if info, err := sh.env.Files.Stat(dir); err != nil || !info.IsDir() {
			fmt.Fprintf(hc.Stderr, "cd: can't cd to %s\n", dir)
			return []string{"status", "1"}, nil
		}
		return []string{name, dir}, nil
	case "test", "[":
		return condition(hc, args), nil
	default:
		if b := builtins[name]; b != nil && b.do != nil { // the interpreter may have a builtin of that name
			return append([]string{"/" + name}, args[1:]...), nil
		}
	}
	return args, nil
}

// command is a builtin that runs.
type command struct {
	interp.HandlerContext
	*shell
	ctx context.Context
}

// exec runs a builtin. No program of the machine is run.
func (sh *shell) exec(ctx context.Context, args []string) error {
	c := &command{interp.HandlerCtx(ctx), sh, ctx}
	if c.Stdin == nil {
		c.Stdin = sh.env.Stdin
	}
	if c.Stdin == nil {
		c.Stdin = strings.NewReader("")
	}
	if out, ok := c.Stdout.(*strings.Builder); ok { // the output of $(...)
		c.Stdout = &capped{out, maxText - out.Len()}
	}
	b := builtins[path.Base(args[0])]
	if b == nil {
		return status(c.hidden(args))
	}
	if b.do == nil {
		return c.Builtin(ctx, args)
	}
	return status(b.do(c, args[1:]))
}

func status(code int) error {
	if code == 0 {
		return nil
	}
	return interp.ExitStatus(code)
}

// capped drops what is written beyond its bound.
type capped struct {
	w    io.Writer
	left int
}

func (c *capped) Write(p []byte) (int, error) {
	n := min(len(p), c.left)
	c.left -= n
	_, err := c.w.Write(p[:n])
	return len(p), err
}

// hidden runs a command that Parse has added to the program.
func (c *command) hidden(args []string) int {
	switch args[0] {
	case "status": // leaves an exit code
		code, _ := strconv.Atoi(args[1])
		return code
	case "turn": // ends a loop's turn
		c.turned[args[1]] = c.LastExitStatus
		c.sleep(c.turns.wait())
		return c.LastExitStatus
	case "turned": // ends a loop
		code := c.turned[args[1]]
		delete(c.turned, args[1])
		return code
	}
	c.background(args[1])
	return 0
}

// background runs a part of the program in a shell of its own.
func (c *command) background(number string) {
	n, _ := strconv.Atoi(number)
	vars := environ{}
	c.Env.Each(func(name string, v expand.Variable) bool {
		vars[name] = v
		return true
	})
	body := c.program.background[n]
	sub := newShell(c.shell.ctx, c.env, Program{stmts: []*syntax.Stmt{body}, background: c.program.background}, vars, c.Dir, c.turns)
	c.jobs.Go(func() {
		sub.runAll()
		sub.jobs.Wait()
	})
}

// turn is the least time of one turn of a loop, so that a loop that does not wait does not take all of a processor.
const turn = 10 * time.Millisecond

// turns is shared by all loops of a program.
type turns struct {
	sync.Mutex
	next time.Time
}

// wait returns how long the next turn has to wait.
func (t *turns) wait() time.Duration {
	t.Lock()
	defer t.Unlock()
	rest := max(0, time.Until(t.next))
	t.next = time.Now().Add(rest + turn)
	return rest
}

// sleep sleeps for a time, or until the program ends.
func (c *command) sleep(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c.ctx.Done():
	case <-t.C:
	}
}

// open opens the target of a redirection.
func (sh *shell) open(ctx context.Context, name string, flags int, _ os.FileMode) (io.ReadWriteCloser, error) {
	name = abs(interp.HandlerCtx(ctx).Dir, name)
	f, err := sh.file(name, flags)
	if err != nil {
		return nil, &fs.PathError{Op: "sh:", Path: name, Err: errors.New(reason(err))}
	}
	return f, nil
}

func (sh *shell) file(name string, flags int) (io.ReadWriteCloser, error) {
	switch reads := flags&os.O_WRONLY == 0; {
	case reads && name == "/dev/null":
		return &file{Reader: strings.NewReader("")}, nil
	case reads:
		f, err := sh.env.Files.Open(name)
		if whole, ok := f.(*os.File); ok {
			return whole, err // otherwise the interpreter copies it through a pipe
		}
		return &file{Reader: f, Closer: f}, err
	case name == "/dev/null":
		return &file{Writer: io.Discard}, nil
	case name == "/dev/stdout" || name == "/proc/1/fd/1":
		return &file{Writer: sh.env.Stdout}, nil
	case name == "/dev/stderr" || name == "/proc/1/fd/2":
		return &file{Writer: sh.env.Stderr}, nil
	}
	f, err := sh.env.Files.Create(name, flags&os.O_APPEND != 0)
	return &file{Writer: f, Closer: f}, err
}

// file is an open file, to be read or written.
type file struct {
	io.Reader
	io.Writer
	io.Closer
}

// Close closes the file if it has something to close.
func (f *file) Close() error {
	if f.Closer == nil {
		return nil
	}
	return f.Closer.Close()
}

func (sh *shell) stat(_ context.Context, name string, _ bool) (fs.FileInfo, error) {
	if name == "" {
		return nil, fs.ErrNotExist
	}
	return sh.env.Files.Stat(name)
}

// access reports all files that exist as accessible, because users are not enforced.
func (sh *shell) access(ctx context.Context, name string, _ interp.AccessMode) error {
	_, err := sh.stat(ctx, name, true)
	return err
}

func (c *command) abs(name string) string { return abs(c.Dir, name) }

func abs(dir, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(dir, name)
}
