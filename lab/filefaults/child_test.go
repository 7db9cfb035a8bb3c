package filefaults

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The test binary starts itself to play one of the parts, in its working directory. A part prints what it finds.
const (
	partVariable   = "FILEFAULTS_PART"
	socketVariable = "FILEFAULTS_SOCKET" // where the part offers first; empty: it does not
)

func TestMain(m *testing.M) {
	part := os.Getenv(partVariable)
	if part == "" {
		os.Exit(m.Run())
	}
	if socket := os.Getenv(socketVariable); socket != "" {
		if err := Offer(socket); err != nil {
			fmt.Println("offer:", err)
			os.Exit(1)
		}
	}
	parts[part](os.Args[1:])
}

// partCommand returns the command of a part that works in a directory.
func partCommand(dir, socket, part string, args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), partVariable+"="+part, socketVariable+"="+socket)
	cmd.Stderr = os.Stderr
	return cmd
}

// process is a part that runs.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines *bufio.Scanner
	stdin io.WriteCloser
}

func begin(t *testing.T, dir, socket, part string, args ...string) *process {
	t.Helper()
	cmd := partCommand(dir, socket, part, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	// A part that hangs for ever fails its test.
	late := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() { late.Stop() })
	return &process{t: t, cmd: cmd, lines: bufio.NewScanner(out), stdin: in}
}

// prints waits for the next line and compares it.
func (p *process) prints(want string) {
	p.t.Helper()
	if !p.lines.Scan() {
		p.t.Fatalf("the process has ended before it printed %q: %v", want, p.lines.Err())
	}
	if got := p.lines.Text(); got != want {
		p.t.Fatalf("the process printed %q, want %q", got, want)
	}
}

// goOn lets a part that waits for its input go on.
func (p *process) goOn() {
	p.t.Helper()
	if _, err := p.stdin.Write([]byte("\n")); err != nil {
		p.t.Fatal(err)
	}
}

// ends waits for its end.
func (p *process) ends() {
	p.t.Helper()
	if p.lines.Scan() {
		p.t.Errorf("the process also printed %q", p.lines.Text())
	}
	if err := p.cmd.Wait(); err != nil {
		p.t.Fatal(err)
	}
}

// scene is a server, and a directory in which parts work.
type scene struct {
	*Server
	dir, socket string

	mu  sync.Mutex
	ops []string
}

// play serves at a new socket with a decision about what happens in a new directory. Paths are relative to it.
func play(t *testing.T, decide Decide, changes ...func(*Server)) *scene {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{dir: filepath.Join(dir, "work"), socket: filepath.Join(dir, "socket")}
	if err := os.Mkdir(s.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if s.Server, err = Listen(s.socket); err != nil {
		t.Fatal(err)
	}
	for _, change := range changes {
		change(s.Server)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(s.here(decide)) }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

// here keeps what happens in the directory, and decides on that alone.
func (s *scene) here(decide Decide) Decide {
	return func(ctx context.Context, op Operation) unix.Errno {
		if op.Path != s.dir && !strings.HasPrefix(op.Path, s.dir+"/") {
			return 0
		}
		op.Path, op.To = s.relative(op.Path), s.relative(op.To)
		s.mu.Lock()
		s.ops = append(s.ops, strings.TrimSpace(op.Kind+" "+op.Path+" "+op.To))
		s.mu.Unlock()
		return decide(ctx, op)
	}
}

func (s *scene) relative(path string) string {
	if path == s.dir {
		return "."
	}
	return strings.TrimPrefix(path, s.dir+"/")
}

// kept returns what has happened.
func (s *scene) kept() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ops)
}

func pass(context.Context, Operation) unix.Errno { return 0 }

// report prints how an operation ended: its errno, or ok.
func report(what string, err error) {
	var errno unix.Errno
	switch {
	case err == nil:
		fmt.Println(what, "ok")
	case errors.As(err, &errno):
		fmt.Println(what, unix.ErrnoName(errno))
	default:
		fmt.Println(what, err)
	}
}

// must ends a part that cannot go on.
func must(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// waitForInput waits until the test lets the part go on.
func waitForInput() {
	_, err := os.Stdin.Read(make([]byte, 1))
	must(err)
}
