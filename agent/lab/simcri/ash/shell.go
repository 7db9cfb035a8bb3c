package ash

import (
	"context"
	"fmt"
	"io"
	"maps"
	"path"
	"strings"
	"sync"
	"time"
)

// shell is the state of a running program, or of a part of it in the background.
type shell struct {
	ctx            context.Context
	env            Env
	vars           map[string]string
	dir            string
	stdin          io.Reader
	stdout, stderr io.Writer
	status         int // $?, of the last command
	exited         bool
	jobs           *sync.WaitGroup
	traps          *traps
}

// traps is what is to be done at a signal, and the signal.
type traps struct {
	sync.Mutex
	onTerm, onExit node
	signalled      chan struct{} // closed by SIGTERM when there is a trap
	pending        bool
}

func newShell(ctx context.Context, env Env) *shell {
	vars := maps.Clone(env.Vars)
	if vars == nil {
		vars = map[string]string{}
	}
	dir := env.Dir
	if dir == "" {
		dir = "/"
	}
	stdin := env.Stdin
	if stdin == nil {
		stdin = strings.NewReader("")
	}
	return &shell{ctx: ctx, env: env, vars: vars, dir: dir, stdin: stdin, stdout: env.Stdout, stderr: env.Stderr,
		jobs: &sync.WaitGroup{}, traps: &traps{signalled: make(chan struct{})}}
}

// sub is a copy whose variables, directory and traps are its own.
func (sh *shell) sub() *shell {
	s := *sh
	s.vars = maps.Clone(sh.vars)
	s.jobs = &sync.WaitGroup{}
	s.traps = &traps{signalled: make(chan struct{})}
	return &s
}

// runAll runs the whole program, with what it left for its exit.
func (sh *shell) runAll(body node) int {
	code := sh.run(body)
	sh.traps.Lock()
	last := sh.traps.onExit
	sh.traps.Unlock()
	if last != nil && sh.ctx.Err() == nil {
		sh.exited = false
		sh.run(last)
		if sh.exited {
			code = sh.status
		}
	}
	if sh.ctx.Err() != nil {
		return Killed
	}
	return code
}

func (sh *shell) run(n node) int {
	if sh.over() {
		return sh.status
	}
	code := n.run(sh)
	if !sh.exited {
		sh.status = code
	}
	return sh.status
}

// over reports whether nothing more is to be run; a signal that came is dealt with first.
func (sh *shell) over() bool {
	if sh.exited || sh.ctx.Err() != nil {
		return true
	}
	sh.traps.Lock()
	pending, body := sh.traps.pending, sh.traps.onTerm
	if pending {
		sh.traps.pending, sh.traps.signalled = false, make(chan struct{})
	}
	sh.traps.Unlock()
	if pending && body != nil {
		body.run(sh)
	}
	return sh.exited
}

func (sh *shell) exit(code int) int {
	if !sh.exited {
		sh.exited, sh.status = true, code&0xff
	}
	return sh.status
}

func (sh *shell) signal() bool {
	t := sh.traps
	t.Lock()
	defer t.Unlock()
	if t.onTerm == nil {
		return false
	}
	if !t.pending {
		t.pending = true
		close(t.signalled)
	}
	return true
}

// sleep gives false when the program was ended meanwhile.
func (sh *shell) sleep(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-sh.ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

func (s sequence) run(sh *shell) int {
	code := 0
	for _, i := range s {
		if sh.over() {
			return sh.status
		}
		if i.background {
			bg := sh.sub()
			sh.jobs.Go(func() {
				bg.run(i.node)
				bg.jobs.Wait()
			})
			code = 0
			continue
		}
		code = sh.run(i.node)
	}
	sh.over()
	return code
}

func (e either) run(sh *shell) int {
	code := sh.run(e.left)
	if sh.over() || (code != 0) != e.onFailure {
		return code
	}
	return sh.run(e.right)
}

func (i inverse) run(sh *shell) int {
	if sh.run(i.node) == 0 {
		return 1
	}
	return 0
}

// turn is the least time that one turn of a loop takes, so that a loop that
// waits for nothing does not burn the machine.
const turn = 10 * time.Millisecond

func (l loop) run(sh *shell) int {
	code := 0
	for {
		begin := time.Now()
		cond := sh.run(l.cond)
		if sh.over() || (cond == 0) == l.until {
			return code
		}
		code = sh.run(l.body)
		if sh.over() {
			return code
		}
		if rest := turn - time.Since(begin); rest > 0 && !sh.sleep(rest) {
			return code
		}
	}
}

func (b branch) run(sh *shell) int {
	if sh.run(b.cond) == 0 {
		return sh.run(b.then)
	}
	return sh.run(b.otherwise)
}

func (e each) run(sh *shell) int {
	code := 0
	for _, v := range sh.expand(e.words) {
		if sh.over() {
			return code
		}
		sh.vars[e.name] = v
		code = sh.run(e.body)
	}
	return code
}

func (c *simple) run(sh *shell) int {
	for _, a := range c.assigns {
		sh.vars[a.name] = sh.join(a.value)
	}
	in, out, errOut := sh.stdin, sh.stdout, sh.stderr
	defer func() { sh.stdin, sh.stdout, sh.stderr = in, out, errOut }()
	for _, r := range c.redirs {
		f, err := sh.redirect(r)
		if err != nil {
			fmt.Fprintf(errOut, "sh: %v\n", err)
			return 1
		}
		if f != nil {
			defer f.Close()
		}
	}
	if c.command == nil {
		return 0
	}
	code := c.command.run(sh, c, sh.expand(c.words))
	if c.leave {
		return sh.exit(code)
	}
	return code
}

// redirect points a stream elsewhere; what it gives is to be closed.
func (sh *shell) redirect(r redir) (io.Closer, error) {
	if r.toFD == 1 {
		return nil, sh.point(r.fd, sh.stdout)
	}
	if r.toFD == 2 {
		return nil, sh.point(r.fd, sh.stderr)
	}
	name := sh.abs(sh.join(r.target))
	switch {
	case r.input && name == "/dev/null":
		sh.stdin = strings.NewReader("")
		return nil, nil
	case r.input:
		f, err := sh.env.Files.Open(name)
		if err == nil {
			sh.stdin = f
		}
		return f, plain(name, err)
	case name == "/dev/null":
		return nil, sh.point(r.fd, io.Discard)
	case name == "/dev/stdout" || name == "/proc/1/fd/1":
		return nil, sh.point(r.fd, sh.env.Stdout)
	case name == "/dev/stderr" || name == "/proc/1/fd/2":
		return nil, sh.point(r.fd, sh.env.Stderr)
	}
	f, err := sh.env.Files.Create(name, r.appending)
	if err != nil {
		return nil, plain(name, err)
	}
	return f, sh.point(r.fd, f)
}

func (sh *shell) point(fd int, w io.Writer) error {
	if fd == 2 {
		sh.stderr = w
	} else {
		sh.stdout = w
	}
	return nil
}

func (sh *shell) abs(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(sh.dir, name)
}
